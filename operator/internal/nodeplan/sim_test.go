package nodeplan

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	update = flag.Bool("update", false, "rewrite the golden files")
	seeds  = flag.Uint64("seeds", 300, "how many random orders to try")
)

// play lets a world and the planner act in turn. crash says, before each step, whether the operator ends here: the
// rest of its plan is never carried out, and the next one is made from what there is then.
func play(w *world, ticks int, crash func() bool) {
	for range ticks {
		w.tick()
		for _, step := range Make(w.observe()) {
			if crash() {
				break
			}
			w.do(step)
		}
	}
}

func steadily() bool { return false }

// TestScenarios keeps the decisions of whole scenarios, with their reasons, as files for people to read.
func TestScenarios(t *testing.T) {
	running := func(replicas int) *world {
		w := newWorld(Set{Name: "cpu", Replicas: replicas, Hash: "a", MaxUnavailable: 1})
		play(w, 12, steadily)
		w.log = append(w.log, "---- running")
		return w
	}
	for name, scenario := range map[string]func() *world{
		"scale out and in": func() *world {
			w := newWorld(Set{Name: "cpu", Replicas: 2, Hash: "a", MaxUnavailable: 1})
			play(w, 10, steadily)
			w.log = append(w.log, "---- 4 replicas")
			w.sets[0].Replicas = 4
			play(w, 10, steadily)
			w.log = append(w.log, "---- jobs of 30, 10 and 20 ticks, then 1 replica")
			for _, length := range []int64{30, 10, 20} {
				w.submit(1, length)
			}
			w.tick()
			w.sets[0].Replicas = 1
			play(w, 40, steadily)
			return w
		},
		"rolling update": func() *world {
			w := running(4)
			w.log = append(w.log, "---- new template, at most 2 out, one long job")
			w.submit(1, 25)
			w.tick()
			w.sets[0].Hash, w.sets[0].MaxUnavailable = "b", 2
			play(w, 50, steadily)
			return w
		},
		"rolling update and back": func() *world {
			w := running(3)
			w.log = append(w.log, "---- new template, taken back at once, while every node is busy")
			w.submit(3, 20)
			w.tick()
			w.sets[0].Hash = "b"
			play(w, 3, steadily)
			w.sets[0].Hash = "a"
			play(w, 30, steadily)
			return w
		},
		"loss": func() *world {
			w := running(2)
			w.log = append(w.log, "---- pod cpu-0 is killed under a job")
			w.submit(2, 10)
			w.tick()
			w.kill("cpu-0")
			play(w, 40, steadily)
			return w
		},
		"eviction with notice": func() *world {
			w := running(2)
			w.log = append(w.log, "---- pod cpu-0 is evicted: its job ends in time")
			w.submit(1, 4)
			w.tick()
			w.evict("cpu-0")
			play(w, 20, steadily)
			w.log = append(w.log, "---- pod cpu-0 is evicted: its job does not end in time")
			w.submit(1, 10)
			w.tick()
			w.evict("cpu-0")
			play(w, 30, steadily)
			return w
		},
		"cordon": func() *world {
			w := running(2)
			w.log = append(w.log, "---- the machine of cpu-0 is cordoned")
			w.submit(1, 6)
			w.tick()
			w.cordoned[w.pods["cpu-0"].machine] = true
			play(w, 20, steadily)
			return w
		},
		"slurmctld is silent": func() *world {
			w := running(3)
			w.log = append(w.log, "---- silent, 1 replica, and pod cpu-0 is killed")
			w.silent = true
			w.sets[0].Replicas = 1
			w.kill("cpu-0")
			play(w, 10, steadily)
			w.log = append(w.log, "---- answers")
			w.silent = false
			play(w, 20, steadily)
			return w
		},
		"autoscale": func() *world {
			w := newWorld(Set{Name: "cpu", Hash: "a", MaxUnavailable: 1, Cloud: scale(0, 4)})
			play(w, 5, steadily)
			w.log = append(w.log, "---- a job of three nodes")
			w.submit(3, 10)
			play(w, 40, steadily)
			w.log = append(w.log, "---- a job, whose pod is killed")
			w.submit(1, 10)
			play(w, 10, steadily)
			w.kill("cpu-0")
			play(w, 50, steadily)
			w.log = append(w.log, "---- one is always wanted, of at most two")
			w.sets[0].Cloud = scale(1, 2)
			play(w, 10, steadily)
			return w
		},
		"autoscale, no room": func() *world {
			w := newWorld(Set{Name: "cpu", Hash: "a", MaxUnavailable: 1, Cloud: scale(0, 1)})
			play(w, 5, steadily)
			w.log = append(w.log, "---- a job, and no machine for it until tick 90")
			w.full = true
			w.submit(1, 10)
			play(w, 85, steadily)
			w.full = false
			play(w, 60, steadily)
			return w
		},
		"replicas become autoscaled": func() *world {
			w := running(2)
			w.log = append(w.log, "---- autoscale, while a job runs on one node")
			w.submit(1, 10)
			w.tick()
			w.sets[0].Cloud, w.sets[0].Hash = scale(1, 3), "b"
			play(w, 30, steadily)
			return w
		},
		"drain with a time-out": func() *world {
			w := running(1)
			w.log = append(w.log, "---- a job for ever, a time-out of 5 ticks, a new template")
			w.submit(1, 1000)
			w.tick()
			w.timeout, w.sets[0].Hash = 5, "b"
			play(w, 20, steadily)
			return w
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario()
			require.Empty(t, w.harm)
			file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".txt")
			text := strings.Join(w.log, "\n") + "\n"
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			}
			golden, err := os.ReadFile(file)
			require.NoError(t, err, "run the test with -update")
			require.Equal(t, string(golden), text)
		})
	}
}

// TestAnyOrder lets everything happen in many random orders, with an operator that ends between any two steps and a
// slurmctld that falls silent, and looks for harm after every step, and for a cluster as wanted in the end.
func TestAnyOrder(t *testing.T) {
	for seed := range *seeds {
		r := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(
			Set{Name: "a", Replicas: r.IntN(5), Hash: "1", MaxUnavailable: 1 + r.IntN(2)},
			Set{Name: "b", Replicas: r.IntN(3), Hash: "1", MaxUnavailable: 1},
			Set{Name: "c", Hash: "1", MaxUnavailable: 1, Cloud: scale(r.IntN(2), 1+r.IntN(4))})
		if r.IntN(4) == 0 {
			w.timeout = int64(5 + r.IntN(20))
		}
		for range 150 {
			if r.IntN(4) == 0 {
				disturb(w, r)
			}
			w.tick()
			mayUpdate := map[string]int{}
			for _, step := range Make(w.observe()) {
				if r.IntN(20) == 0 {
					break // the operator ends
				}
				if r.IntN(4) == 0 {
					w.tick() // it is slow
				}
				w.do(step)
				if step.Why == WhyUpdate && step.Action == Drain && step.Set != "c" {
					mayUpdate[step.Set]++
				}
				w.unharmed(t, seed)
			}
			for _, set := range w.sets {
				require.LessOrEqual(t, mayUpdate[set.Name], set.MaxUnavailable, "seed %d: drained at once for an update", seed)
			}
		}
		calm(w)
		play(w, 400, steadily)
		w.unharmed(t, seed)
		w.finished(t, seed)
	}
}

// TestNeverTooManyOut lets an update go on without losses, and counts.
func TestNeverTooManyOut(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		set := Set{Name: "a", Replicas: 2 + r.IntN(6), Hash: "1", MaxUnavailable: 1 + r.IntN(3)}
		w := newWorld(set)
		play(w, 12, steadily)
		for range 10 {
			w.submit(1+r.IntN(2), int64(1+r.IntN(20)))
		}
		w.sets[0].Hash = "2"
		for tick := range 300 {
			play(w, 1, func() bool { return r.IntN(10) == 0 })
			if out := w.out(w.sets[0]); out > set.MaxUnavailable {
				t.Fatalf("seed %d, tick %d: %d nodes are out\n%s", seed, tick, out, strings.Join(w.log, "\n"))
			}
		}
		w.finished(t, seed)
	}
}

func (w *world) unharmed(t *testing.T, seed uint64) {
	if len(w.harm) > 0 {
		t.Fatalf("seed %d: %s\n%s", seed, w.harm, strings.Join(w.log, "\n"))
	}
}

func (w *world) finished(t *testing.T, seed uint64) {
	if why := w.unfinished(); len(why) > 0 {
		t.Fatalf("seed %d: %s\n%s", seed, why, strings.Join(w.log, "\n"))
	}
}

// disturb does one of the things that happen.
func disturb(w *world, r *rand.Rand) {
	set := &w.sets[r.IntN(len(w.sets))]
	victim := ""
	if names := slices.Sorted(maps.Keys(w.pods)); len(names) > 0 {
		victim = names[r.IntN(len(names))]
	}
	switch r.IntN(11) {
	case 0:
		if set.Replicas = r.IntN(5); set.Cloud != nil {
			set.Cloud = scale(r.IntN(2), 1+r.IntN(4))
		}
	case 1:
		set.Hash = fmt.Sprint(r.IntN(3))
	case 2:
		w.kill(victim)
	case 3:
		w.evict(victim)
	case 4:
		w.stopSlurmd(victim)
	case 5:
		w.silent = !w.silent
	case 6:
		w.cordoned[r.IntN(4)] = r.IntN(2) == 0
	case 7:
		if n := w.nodes[victim]; n != nil && !n.drain {
			n.drain, n.reason = true, "bad disk"
		}
	case 8:
		if n := w.nodes[victim]; n != nil && n.drain && !n.ours() {
			n.drain, n.down, n.reason = false, false, ""
		}
	default:
		w.submit(1+r.IntN(2), int64(1+r.IntN(30)))
	}
}

// calm ends what keeps a cluster from being as wanted, other than the planner.
func calm(w *world) {
	w.silent = false
	w.cordoned = map[int]bool{}
	w.full = false
	for _, n := range w.nodes {
		if n.drain && !n.ours() {
			n.drain, n.down, n.reason = false, false, ""
		}
	}
	for i := range w.sets {
		w.sets[i].Replicas = max(2, w.sets[i].Replicas)
	}
}
