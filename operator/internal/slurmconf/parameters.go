package slurmconf

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// parameterNames are the parameters of slurm.conf in Slurm 24.11 to 26.05, one a line, as src/common/
// read_config.c of these versions names them.
//
//go:embed parameters.txt
var parameterNames string

// known maps a parameter's name in lower case to its usual spelling.
var known = func() map[string]string {
	m := map[string]string{}
	for _, name := range strings.Fields(parameterNames) {
		m[strings.ToLower(name)] = name
	}
	return m
}()

// owned are the parameters that decide how the cluster is built.
func owned(c Cluster, address string) []parameter {
	return slices.Concat(powerSaving(c), authentication(c), []parameter{
		{"ClusterName", c.Name},
		{"SlurmctldHost", fmt.Sprintf("%s(%s)", c.ControllerHost, address)},
		{"SlurmUser", contract.UserName},
		{"SlurmdUser", contract.UserName},
		{"SlurmctldPort", fmt.Sprint(contract.PortSlurmctld)},
		{"SlurmdPort", fmt.Sprint(contract.PortSlurmd)},
		{"SrunPortRange", fmt.Sprintf("%d-%d", contract.PortSrunFirst, contract.PortSrunLast)},
		{"AuthAltTypes", "auth/jwt"},
		{"AuthAltParameters", "jwt_key=" + contract.JWTKeyPath},
		{"StateSaveLocation", contract.StateDir + "/state"},
		{"SlurmdSpoolDir", contract.SpoolDir + "/%n"},
		{"SlurmctldPidFile", contract.RunDir + "/slurmctld.pid"},
		{"SlurmdPidFile", contract.RunDir + "/slurmd.pid"},
		// The pod's cgroup confines a node; within it, an unprivileged slurmd can only follow processes.
		{"ProctrackType", "proctrack/linuxproc"},
		{"SelectType", "select/cons_tres"},
		{"MaxNodeCount", fmt.Sprint(c.MaxNodes)},
		{"ReturnToService", "2"},
		// Nodes have no names that DNS must know, so slurmds do not forward messages to each other.
		{"TreeWidth", "65533"},
	})
}

// authentication is how daemons and clients know each other. What signs the credentials of jobs goes with it.
func authentication(c Cluster) []parameter {
	// A job whose node was lost is requeued, and then waits until its credential has expired: 120 s by default.
	const expire = "cred_expire=10"
	if c.OwnAuth {
		return []parameter{{"AuthType", "auth/slurm"}, {"CredType", "cred/slurm"}, {"AuthInfo", expire}}
	}
	// The images of users have no link to munged's socket where libmunge looks for it.
	return []parameter{{"AuthType", "auth/munge"}, {"AuthInfo", expire + ",socket=" + contract.MungeSocket}}
}

// powerSaving lets Slurm's scheduler power nodes up. When to power them down, the operator decides for each node set, so
// that Slurm's own time for that is a year.
func powerSaving(c Cluster) []parameter {
	if c.ResumeSeconds == 0 {
		return nil
	}
	return []parameter{
		{"ResumeProgram", contract.PowerProgram},
		{"SuspendProgram", contract.PowerProgram},
		// Without it, slurmctld would look only every 30 s whether a job's nodes have come. The user's own one runs, too.
		{"PrologSlurmctld", contract.PrologProgram},
		{"SuspendTime", "31536000"},
		{"ResumeTimeout", fmt.Sprint(c.ResumeSeconds)},
		// The operator ends this as soon as the node's pod is gone.
		{"SuspendTimeout", "120"},
		{"ResumeRate", "0"},
		{"SuspendRate", "0"},
	}
}

// joinedOf are the joined parameters of a cluster.
func joinedOf(c Cluster) []parameter {
	if c.ResumeSeconds == 0 {
		return joined
	}
	list := slices.Clone(joined)
	for i := range list {
		if list[i].key == "SlurmctldParameters" {
			// A job that gets nodes in the second of the last look would wait ten for the next.
			list[i].value += ",power_save_interval=1"
		}
	}
	return list
}

// joined are parameters with a list of values, to which a user's own are added.
var joined = []parameter{
	// slurmctld hands its configuration to every slurmd.
	{"SlurmctldParameters", "enable_configless"},
	// What nodes include for themselves makes their configurations differ; slurmctld would complain of each.
	{"DebugFlags", "NO_CONF_HASH"},
	{"JobSubmitPlugins", "lua"},
}

// defaultsOf are the defaults of a cluster.
func defaultsOf(c Cluster) []parameter {
	if c.ResumeSeconds == 0 {
		return defaults
	}
	// All nodes that could be are known, so a job that would never fit is refused.
	return append(slices.Clone(defaults), parameter{"EnforcePartLimits", "ANY"})
}

// defaults are parameters that a user may set differently.
var defaults = []parameter{
	{"SelectTypeParameters", "CR_Core_Memory"},
	{"SlurmctldTimeout", "30"},
	{"SlurmdTimeout", "60"},
	// A node that registers does not start the scheduler, so the scheduler looks often.
	// batch_sched_delay gathers submissions for three seconds before they are looked at, which a small
	// cluster does not need. nohold_on_prolog_fail lets a job whose launch failed, because its slurmd or munged was just then
	// restarted, run again by itself; Slurm holds it after five times.
	{"SchedulerParameters", "sched_interval=5,bf_interval=5,batch_sched_delay=0,nohold_on_prolog_fail"},
	// A job's record is how its output is found, so it is kept for an hour, and there is room for that.
	{"MinJobAge", "3600"},
	{"MaxJobCount", "100000"},
	// An unprivileged slurmd cannot raise limits to those of the shell that submitted.
	{"PropagateResourceLimits", "NONE"},
	{"MailProg", "/usr/bin/true"},
	{"SlurmctldSyslogDebug", "quiet"},
	{"SlurmdSyslogDebug", "quiet"},
}
