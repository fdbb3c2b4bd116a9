package slurmconf

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func cluster() Cluster {
	return Cluster{
		Name: "demo", ControllerHost: "demo-controller-0", ControllerIP: "10.96.0.7", MaxNodes: 1024,
		NodeSets: []NodeSet{{"cpu", 448}, {"big", 900}},
		Partitions: []Partition{
			{Name: "main", Default: true},
			{Name: "night", NodeSets: []string{"big"}, MaxTime: "1-0", DefaultTime: "60", MaxNodes: 2, PriorityTier: 3, State: "DOWN"},
		},
	}
}

func TestRenderGolden(t *testing.T) {
	tests := map[string]func(*Cluster){
		"plain": func(*Cluster) {},
		"config": func(c *Cluster) {
			c.Config = map[string]string{"schedulerparameters": "bf_interval=30", "Licenses": "matlab:3", "SlurmctldDebug": "debug"}
		},
		"devices": func(c *Cluster) { c.GresTypes = []string{"fpga", "gpu"} },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			c := cluster()
			change(&c)
			files, err := Render(c)
			require.NoError(t, err)
			for file, text := range files {
				golden := filepath.Join("testdata", name, file)
				if file == contract.FileJobSubmit {
					golden = filepath.Join("testdata", file) // the same for every cluster
				}
				if *update {
					require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
					require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				assert.Equal(t, string(want), text)
			}
		})
	}
}

func TestRenderLocalDiffersOnlyInAddressAndTaskPlugin(t *testing.T) {
	files, err := Render(cluster())
	require.NoError(t, err)
	local := strings.NewReplacer("127.0.0.1", "10.96.0.7", "TaskPlugin=task/none", "Include /run/slurm/node.conf")
	assert.Equal(t, files[contract.FileSlurmConf], local.Replace(files[contract.FileSlurmConfLocal]))
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name   string
		config map[string]string
		want   string
	}{
		{"empty", nil, ""},
		{"known key, any case", map[string]string{"maxarraysize": "2000"}, ""},
		{"newline", map[string]string{"MaxArraySize": "1\nSlurmUser=root"}, "one line"},
		{"carriage return", map[string]string{"MaxArraySize": "1\rSlurmUser=root"}, "one line"},
		{"comment", map[string]string{"MaxArraySize": "1 # x"}, "one line"},
		{"line goes on", map[string]string{"MaxArraySize": `1 \`}, "backslash"},
		{"open quotation", map[string]string{"MailDomain": `"x`}, "quotation mark"},
		{"empty value", map[string]string{"MaxArraySize": " "}, "is empty"},
		{"owned", map[string]string{"slurmUSER": "root"}, "set by the operator"},
		{"refused", map[string]string{"Include": "/etc/passwd"}, "set by the operator"},
		{"typing error", map[string]string{"SchedulerParamters": "x"}, "did you mean SchedulerParameters?"},
		{"unknown", map[string]string{"Zebra": "x"}, "slurm.conf manual"},
		{"twice", map[string]string{"MaxArraySize": "1", "maxarraysize": "2"}, "same parameter"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Validate(tt.config)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestRenderRefusesNames(t *testing.T) {
	c := cluster()
	c.NodeSets[0].Name = "a\nSlurmUser=root"
	_, err := Render(c)
	require.ErrorContains(t, err, "node set")

	c = cluster()
	c.Partitions[0].Name = "a b"
	_, err = Render(c)
	require.ErrorContains(t, err, "partition")

	c = cluster()
	c.Partitions[1].MaxTime = "1\n"
	_, err = Render(c)
	require.ErrorContains(t, err, "one word")

	c = cluster()
	c.ControllerIP = "10.0.0.1)\nSlurmUser=root#"
	_, err = Render(c)
	require.ErrorContains(t, err, "one line")
}

// FuzzRender: whatever a user writes, the file has the lines that it has without it, plus at most one for
// each parameter.
func FuzzRender(f *testing.F) {
	f.Add("MaxArraySize", "1001")
	f.Add("Licenses", "a:1\nSlurmUser=root")
	f.Add("MailProg", "/bin/x \\")
	f.Fuzz(func(t *testing.T, key, value string) {
		plain, err := Render(cluster())
		require.NoError(t, err)
		c := cluster()
		c.Config = map[string]string{key: value}
		files, err := Render(c)
		if err != nil {
			return
		}
		text := files[contract.FileSlurmConf]
		assert.LessOrEqual(t, strings.Count(text, "\n"), strings.Count(plain[contract.FileSlurmConf], "\n")+1)
		assert.Equal(t, 1, strings.Count(strings.ToLower(text), "\nslurmuser="))
	})
}

// A cluster whose nodes are always on has nothing of power saving; one of the others says it all.
func TestPowerSaving(t *testing.T) {
	files, err := Render(cluster())
	require.NoError(t, err)
	for _, word := range []string{"Resume", "Suspend", "Prolog", "power_save", "EnforcePartLimits"} {
		require.NotContains(t, files[contract.FileSlurmConf], word)
	}
	c := cluster()
	c.ResumeSeconds = 90
	c.Config = map[string]string{"SlurmctldParameters": "idle_on_node_suspend"}
	files, err = Render(c)
	require.NoError(t, err)
	for _, line := range []string{
		"ResumeProgram=/run/slurm/slurmcluster-power", "SuspendProgram=/run/slurm/slurmcluster-power", "PrologSlurmctld=/run/slurm/slurmcluster-prolog",
		"ResumeTimeout=90", "EnforcePartLimits=ANY", "SlurmctldParameters=enable_configless,power_save_interval=1,idle_on_node_suspend",
	} {
		require.Contains(t, files[contract.FileSlurmConf], line+"\n")
	}
}
