package sbatch

import "strings"

// commandLine is what stands after the cluster's name, taken apart the way sbatch does it.
type commandLine struct {
	// options stand before the script, with their values.
	options []string
	// script is the path of the script; empty if there is none.
	script string
	// scriptArgs are the script's own.
	scriptArgs []string
	// noScript is true when sbatch reads no script: --wrap has the job's commands, --help has no job.
	noScript bool
}

func parse(args []string) commandLine {
	var line commandLine
	i := 0
	for i < len(args) && args[i] != "--" {
		words, last, isOption := option(args[i])
		if !isOption {
			break
		}
		line.noScript = line.noScript || last == "wrap" || last == "help" || last == "usage" || last == "version"
		i += words
	}
	i = min(i, len(args))
	rest := args[i:]
	if len(rest) > 0 && rest[0] == "--" {
		i, rest = i+1, rest[1:]
	}
	line.options = args[:i]
	if len(rest) > 0 {
		line.script, line.scriptArgs = rest[0], rest[1:]
	}
	return line
}

// option says how many arguments the option takes up, itself included, and the long name of the last of
// the options in it ("-HV" is two).
func option(arg string) (words int, name string, isOption bool) {
	switch {
	case arg == ":": // separates the parts of a heterogeneous job
		return 1, "", true
	case len(arg) < 2 || arg[0] != '-':
		return 0, "", false
	case strings.HasPrefix(arg, "--"):
		name, _, attached := strings.Cut(arg[2:], "=")
		name, needsValue := longOption(name)
		if needsValue && !attached {
			return 2, name, true
		}
		return 1, name, true
	}
	for i := 1; i < len(arg); i++ {
		if strings.IndexByte(shortWithValue, arg[i]) >= 0 {
			if i == len(arg)-1 {
				return 2, "", true
			}
			return 1, "", true // the rest of the argument is the value
		}
		if arg[i] == 'h' || arg[i] == 'V' {
			name = map[byte]string{'h': "help", 'V': "version"}[arg[i]]
		}
	}
	return 1, name, true
}
