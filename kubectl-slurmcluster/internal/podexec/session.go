package podexec

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/kubectl/pkg/util/term"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// The shell tells its process id, which stays that of the command, on standard error: there is no other
// way to send a signal to a command that has no terminal. The command runs in the user's home directory.
const prologue = `cd ` + contract.HomeDir + ` && echo $$ >&2 && exec "$@"`

// Like the keys of a terminal, signals go to all processes of the command.
const sendSignal = `kill -s "$0" -- "-$1" 2>/dev/null || kill -s "$0" "$1"`

// startPatience is how long a person who interrupts waits for a command that has not started yet; who interrupts twice does not.
const startPatience = 2 * time.Second

var signalNames = map[os.Signal]string{os.Interrupt: "INT", syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP"}

// Session runs a command for the person in front of the plugin, and hands on their signals.
func Session(ctx context.Context, runner Runner, target Target, command []string, streams genericiooptions.IOStreams) error {
	pid := &firstLine{rest: streams.ErrOut, line: make(chan string, 1)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	received := make(chan os.Signal, 1)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(received)
	go forward(ctx, cancel, runner, target, received, pid.line)
	return runner.Run(ctx, target, append([]string{"sh", "-c", prologue, "sh"}, command...),
		Streams{In: streams.In, Out: streams.Out, Err: pid})
}

// forward sends each signal to the command, and gives up on a command that never started or cannot be told.
func forward(ctx context.Context, cancel func(), runner Runner, target Target, received <-chan os.Signal, line <-chan string) {
	pid := ""
	for {
		select {
		case <-ctx.Done():
			return
		case pid = <-line:
		case s := <-received:
			if pid == "" { // it may be about to start, and would then run on
				select {
				case <-ctx.Done():
					return
				case pid = <-line:
				case <-received:
				case <-time.After(startPatience):
				}
			}
			kill := []string{"sh", "-c", sendSignal, signalNames[s], pid}
			if pid == "" || runner.Run(ctx, target, kill, Streams{Out: io.Discard, Err: io.Discard}) != nil {
				cancel()
			}
		}
	}
}

// firstLine keeps the first line written to it and passes the rest on.
type firstLine struct {
	rest io.Writer
	head []byte
	seen bool
	line chan string
}

func (f *firstLine) Write(p []byte) (int, error) {
	if f.seen {
		return f.rest.Write(p)
	}
	f.head = append(f.head, p...)
	line, rest, found := strings.Cut(string(f.head), "\n")
	if !found {
		return len(p), nil
	}
	f.seen = true
	if strings.Trim(line, "0123456789") != "" { // the shell failed before it told its process id
		line, rest = "", string(f.head)
	}
	f.line <- line
	_, err := io.WriteString(f.rest, rest)
	return len(p), err
}

// Terminal runs a command that has the person's terminal, with its size and its keys. Without a terminal
// on standard input it is a Session.
func Terminal(ctx context.Context, runner Runner, target Target, command []string, streams genericiooptions.IOStreams) error {
	tty := term.TTY{In: streams.In, Out: streams.Out, Raw: true}
	if !tty.IsTerminalIn() {
		return Session(ctx, runner, target, command, streams)
	}
	sizes := sizeQueue{tty.MonitorSize(tty.GetSize())}
	kind := `cd ` + contract.HomeDir + ` && TERM="$0" exec "$@"`
	command = append([]string{"sh", "-c", kind, terminalType()}, command...)
	return tty.Safe(func() error {
		return runner.Run(ctx, target, command, Streams{In: streams.In, Out: streams.Out, TTY: true, Sizes: sizes})
	})
}

func terminalType() string {
	if name := os.Getenv("TERM"); name != "" {
		return name
	}
	return "xterm"
}

type sizeQueue struct{ term.TerminalSizeQueue }

// Next implements remotecommand.TerminalSizeQueue.
func (q sizeQueue) Next() *remotecommand.TerminalSize {
	if q.TerminalSizeQueue == nil {
		return nil
	}
	size := q.TerminalSizeQueue.Next()
	if size == nil {
		return nil
	}
	return &remotecommand.TerminalSize{Width: size.Width, Height: size.Height}
}
