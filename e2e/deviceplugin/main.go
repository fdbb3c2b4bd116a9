// Deviceplugin is a Kubernetes device plugin for tests. It gives pods device files that look like those of GPUs and
// lead to /dev/null. It runs where the kubelet runs, until its standard input ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

type plugin struct {
	api.UnimplementedDevicePluginServer
	// prefix is the path of a device file in a pod without its number, such as /dev/nvidia.
	prefix string
	count  int
	dir    string
}

func main() {
	p := plugin{}
	resource := flag.String("resource", "nvidia.com/gpu", "name of the extended resource")
	flag.StringVar(&p.prefix, "prefix", "/dev/nvidia", "path of the device files in pods, without their numbers")
	flag.IntVar(&p.count, "count", 2, "how many devices there are")
	flag.Parse()
	if err := p.run(*resource); err != nil {
		fmt.Fprintln(os.Stderr, "deviceplugin:", err)
		os.Exit(1)
	}
}

func (p *plugin) run(resource string) (err error) {
	if p.dir, err = os.MkdirTemp("", "deviceplugin"); err != nil {
		return err
	}
	defer os.RemoveAll(p.dir)
	for i := range p.count {
		// Character device 1:3 is /dev/null.
		if err := unix.Mknod(p.file(i), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
			return fmt.Errorf("make %s: %w", p.file(i), err)
		}
		if err := os.Chmod(p.file(i), 0o666); err != nil { //nolint:gosec // as /dev/null's, whatever the umask is
			return err
		}
	}
	endpoint := filepath.Base(p.dir) + ".sock"
	l, err := net.Listen("unix", filepath.Join(api.DevicePluginPath, endpoint))
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	defer server.Stop()
	if err := register(resource, endpoint); err != nil {
		return fmt.Errorf("register %s with the kubelet: %w", resource, err)
	}
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		served <- err
	}()
	return <-served
}

func register(resource, endpoint string) error {
	c, err := grpc.NewClient("unix://"+api.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err = api.NewRegistrationClient(c).Register(ctx, &api.RegisterRequest{
		Version: api.Version, Endpoint: endpoint, ResourceName: resource,
	})
	return err
}

func (p *plugin) file(i int) string { return filepath.Join(p.dir, fmt.Sprint(i)) }

// GetDevicePluginOptions says that the kubelet need not ask before it starts a container.
func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

// ListAndWatch tells of the devices, which never change.
func (p *plugin) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	answer := &api.ListAndWatchResponse{}
	for i := range p.count {
		answer.Devices = append(answer.Devices, &api.Device{ID: fmt.Sprint(i), Health: api.Healthy})
	}
	if err := stream.Send(answer); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// Allocate gives containers the files of their devices.
func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	answer := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		given := &api.ContainerAllocateResponse{}
		for _, id := range container.DevicesIds {
			given.Devices = append(given.Devices, &api.DeviceSpec{
				ContainerPath: p.prefix + id, HostPath: filepath.Join(p.dir, id), Permissions: "rw",
			})
		}
		answer.ContainerResponses = append(answer.ContainerResponses, given)
	}
	return answer, nil
}
