// Command shim is gVisor's containerd-shim-runsc-v1, but that it also starts where root may not make processes harder to
// kill (no CAP_SYS_RESOURCE). There gVisor's own gives up: "failed to set OOM Score on shim".
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"

	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/shim"
	"golang.org/x/sys/unix"
	gvisor "gvisor.dev/gvisor/pkg/shim/v1"
	_ "gvisor.dev/gvisor/pkg/shim/v1/plugin" // the service that containerd talks to
)

func main() {
	shim.Run(context.Background(), manager{gvisor.NewShimManager("io.containerd.runsc.v1")})
}

// manager is gVisor's, except for Start.
type manager struct{ shim.Manager }

// Start starts the process that serves one pod: its first container's bundle is the working directory. Further containers
// of the pod do not come here; containerd takes them to the same process.
func (manager) Start(ctx context.Context, id string, opts shim.StartOpts) (shim.BootstrapParams, error) {
	none := shim.BootstrapParams{}
	address, err := shim.SocketAddress(ctx, opts.Address, id, opts.Debug)
	if err != nil {
		return none, err
	}
	listener, err := listen(address)
	if err != nil {
		return none, err
	}
	defer listener.Close()
	if err := serve(ctx, id, address, listener, opts); err != nil {
		return none, errors.Join(err, shim.RemoveSocket(address))
	}
	return shim.BootstrapParams{Version: 2, Address: address, Protocol: "ttrpc"}, nil
}

// listen makes the socket, also where one lies that nobody listens on any more.
func listen(address string) (*net.UnixListener, error) {
	listener, err := shim.NewSocket(address)
	if err != nil && shim.SocketEaddrinuse(err) && !shim.CanConnect(address) {
		if err := shim.RemoveSocket(address); err != nil {
			return nil, fmt.Errorf("removing a dead shim's socket: %w", err)
		}
		listener, err = shim.NewSocket(address)
	}
	if err != nil {
		return nil, fmt.Errorf("making the shim's socket: %w", err)
	}
	listener.SetUnlinkOnClose(false) // it is the served process's
	return listener, nil
}

// serve starts this program once more, to serve on the socket. The files that it leaves in the bundle are what
// containerd looks for.
func serve(ctx context.Context, id, address string, listener *net.UnixListener, opts shim.StartOpts) error {
	namespace, err := namespaces.NamespaceRequired(ctx)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	socket, err := listener.File()
	if err != nil {
		return fmt.Errorf("handing on the shim's socket: %w", err)
	}
	defer socket.Close()
	arguments := []string{"-namespace", namespace, "-address", opts.Address, "-id", id}
	if opts.Debug {
		arguments = append(arguments, "-debug")
	}
	if err := os.WriteFile("address", []byte(address), 0o644); err != nil {
		return fmt.Errorf("leaving the shim's address: %w", err)
	}
	command := exec.Command(self, arguments...)
	command.Env = append(os.Environ(), "GOMAXPROCS=2")
	command.ExtraFiles = []*os.File{socket}
	command.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting the shim: %w", err)
	}
	// A score that is easier to kill than containerd's takes no capability.
	err = errors.Join(shim.WritePidFile("shim.pid", command.Process.Pid), shim.AdjustOOMScore(command.Process.Pid))
	if err != nil {
		return errors.Join(err, command.Process.Kill())
	}
	return command.Process.Release()
}
