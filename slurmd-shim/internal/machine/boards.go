package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/kernel"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/pattern"
)

const (
	nodeDir     = "/sys/devices/system/node"
	onlineNodes = nodeDir + "/online"
)

var nodeName = pattern.New(`^node([0-9]{1,5})$`)

// numaNode is a NUMA node with the CPUs that are nearest to its memory, maybe none.
type numaNode struct {
	number int
	cpus   cpuset.CPUSet
}

// readNUMA counts NUMA nodes and boards. ghw.Topology is not used: it wants caches, distances and memory of each
// node, and leaves out nodes where one is missing.
func (m *Machine) readNUMA(root fs.FS) error {
	m.NUMANodes, m.Boards = 1, 1
	nodes, err := numaNodes(root)
	if err != nil {
		return err
	}
	m.NUMANodes = max(1, len(nodes))
	for i := range nodes {
		nodes[i].cpus = nodes[i].cpus.Intersection(m.Online)
	}
	distances, err := distances(root, nodes)
	if err != nil {
		return err
	}
	lonely := 0
	for i := range nodes {
		if nodes[i].cpus.IsEmpty() {
			if nodes[i].cpus = neighbours(root, nodes, i, distances); nodes[i].cpus.IsEmpty() {
				lonely++
			}
		}
	}
	groups, err := m.groups(root, nodes, distances)
	if err != nil {
		return err
	}
	m.Boards = m.countBoards(groups, lonely)
	return nil
}

// neighbours returns the CPUs that are nearest to a node without CPUs: those of the nodes that the firmware calls
// its initiators, or else those at the least distance, unless all are equally far.
func neighbours(root fs.FS, nodes []numaNode, i int, distances [][]int) cpuset.CPUSet {
	for _, access := range []string{"access1", "access0"} {
		var near cpuset.CPUSet
		for _, node := range nodes {
			if kernel.IsDir(root, fmt.Sprintf("%s/node%d/%s/initiators/node%d", nodeDir, nodes[i].number, access, node.number)) {
				near = near.Union(node.cpus)
			}
		}
		if !near.IsEmpty() {
			return near
		}
	}
	if distances == nil || len(nodes) < 2 {
		return cpuset.CPUSet{}
	}
	others := slices.Delete(slices.Clone(distances[i]), i, i+1)
	least := slices.Min(others)
	if least <= distances[i][i] || least == slices.Max(others) {
		return cpuset.CPUSet{}
	}
	var near cpuset.CPUSet
	for j, node := range nodes {
		if j != i && distances[i][j] == least {
			near = near.Union(node.cpus)
		}
	}
	return near
}

// numaNodes lists the nodes that are online, by number.
func numaNodes(root fs.FS) ([]numaNode, error) {
	online, err := kernel.ReadCPUList(root, onlineNodes)
	if errors.Is(err, fs.ErrNotExist) {
		online, err = nodeDirs(root), nil
	}
	if err != nil {
		return nil, err
	}
	var nodes []numaNode
	var taken cpuset.CPUSet
	for _, number := range online.List() {
		path := fmt.Sprintf("%s/node%d/cpumap", nodeDir, number)
		cpus, err := kernel.ReadCPUMask(root, path)
		if errors.Is(err, fs.ErrNotExist) {
			cpus, err = kernel.ReadCPUList(root, fmt.Sprintf("%s/node%d/cpulist", nodeDir, number))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if !cpus.Intersection(taken).IsEmpty() {
			cpus = cpuset.CPUSet{} // the firmware is wrong
		}
		taken = taken.Union(cpus)
		nodes = append(nodes, numaNode{number, cpus})
	}
	return nodes, nil
}

func nodeDirs(root fs.FS) cpuset.CPUSet {
	entries, _ := fs.ReadDir(root, strings.TrimPrefix(nodeDir, "/"))
	var numbers []int
	for _, entry := range entries {
		if match := nodeName().FindStringSubmatch(entry.Name()); match != nil {
			number, _ := strconv.Atoi(match[1])
			numbers = append(numbers, number)
		}
	}
	return cpuset.New(numbers...)
}

// groups returns the sets of CPUs that are neither package nor core: s390's books and drawers, clusters, NUMA nodes,
// and NUMA nodes that are nearer to each other than to the rest.
func (m *Machine) groups(root fs.FS, nodes []numaNode, distances [][]int) ([]cpuset.CPUSet, error) {
	var out []cpuset.CPUSet
	for _, files := range [][]string{{"cluster_cpus"}, {"book_siblings"}, {"drawer_siblings"}} {
		sets, err := partition(root, m.Online, files)
		if err != nil {
			return nil, err
		}
		out = append(out, sets...)
	}
	for _, node := range nodes {
		out = append(out, node.cpus)
	}
	if distances != nil {
		out = append(out, near(nodes, distances)...)
	}
	return out, nil
}

// countBoards counts what stands directly below the machine, if that is groups: slurmd takes them for boards.
// A group that is a package or a core is none. The lonely NUMA nodes, near no CPU, are groups of their own, and
// only beside them can a group be the whole machine.
func (m *Machine) countBoards(groups []cpuset.CPUSet, lonely int) int {
	isAll := func(s cpuset.CPUSet) bool { return lonely == 0 && s.Equals(m.Online) }
	others := slices.Clone(m.Packages)
	for _, core := range m.Cores {
		others = append(others, core.CPUs)
	}
	var top []cpuset.CPUSet
	for _, group := range groups {
		same := func(s cpuset.CPUSet) bool { return s.Equals(group) }
		within := func(s cpuset.CPUSet) bool {
			return group.IsSubsetOf(s) && (!s.Equals(m.Online) || slices.ContainsFunc(m.Packages, s.Equals))
		}
		switch {
		case group.IsEmpty(), isAll(group), slices.ContainsFunc(others, within), slices.ContainsFunc(top, same):
			continue
		}
		bigger := func(s cpuset.CPUSet) bool {
			return group.IsSubsetOf(s) && !s.Equals(group) && !isAll(s)
		}
		if !slices.ContainsFunc(groups, bigger) {
			top = append(top, group)
		}
	}
	first := m.Online.List()[0]
	if !slices.ContainsFunc(top, func(s cpuset.CPUSet) bool { return s.Contains(first) }) {
		return 1
	}
	return len(top) + lonely
}

// distances reads how far the nodes are from each other; nil where that is not known.
func distances(root fs.FS, nodes []numaNode) ([][]int, error) {
	var out [][]int
	for _, node := range nodes {
		path := fmt.Sprintf("%s/node%d/distance", nodeDir, node.number)
		content, err := kernel.ReadFile(root, path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		var row []int
		for _, word := range strings.Fields(content) {
			distance, err := strconv.Atoi(word)
			if err != nil {
				return nil, kernel.Malformed(path, content, "a list of distances")
			}
			row = append(row, distance)
		}
		if len(row) != len(nodes) {
			return nil, nil
		}
		out = append(out, row)
	}
	return out, nil
}

// near groups nodes as hwloc does: those that have the least of all distances between them belong together, by
// way of others as well; then the groups among each other, by their mean distances. There must be at least
// three, distances must be the same both ways and more than to oneself, and not all may be one group.
func near(nodes []numaNode, distance [][]int) []cpuset.CPUSet {
	for i := range nodes {
		for j := range i {
			if distance[i][j] != distance[j][i] || distance[i][j] <= distance[i][i] || distance[i][j] <= distance[j][j] {
				return nil
			}
		}
	}
	sets := make([]cpuset.CPUSet, len(nodes))
	for i, node := range nodes {
		sets[i] = node.cpus
	}
	var out []cpuset.CPUSet
	for len(sets) > 2 {
		groups := nearest(distance)
		if len(groups) == 0 || len(groups) == 1 && len(groups[0]) == len(sets) {
			break
		}
		sets, distance = unite(sets, distance, groups)
		out = append(out, sets...)
	}
	return out
}

// nearest returns groups of at least two indices.
func nearest(distance [][]int) [][]int {
	least := 0
	for i, row := range distance {
		for j, d := range row {
			if i != j && (least == 0 || d < least) {
				least = d
			}
		}
	}
	var groups [][]int
	done := make([]bool, len(distance))
	for i := range distance {
		if done[i] {
			continue
		}
		group := []int{i}
		done[i] = true
		for at := 0; at < len(group); at++ {
			for k, d := range distance[group[at]] {
				if !done[k] && d == least {
					done[k] = true
					group = append(group, k)
				}
			}
		}
		if len(group) > 1 {
			groups = append(groups, group)
		} else {
			done[i] = false
		}
	}
	return groups
}

// unite returns the groups' CPUs and the mean distances between them.
func unite(sets []cpuset.CPUSet, distance [][]int, groups [][]int) ([]cpuset.CPUSet, [][]int) {
	united := make([]cpuset.CPUSet, len(groups))
	means := make([][]int, len(groups))
	for i, group := range groups {
		for _, member := range group {
			united[i] = united[i].Union(sets[member])
		}
		for _, other := range groups {
			sum := 0
			for _, a := range group {
				for _, b := range other {
					sum += distance[a][b]
				}
			}
			means[i] = append(means[i], sum/(len(group)*len(other)))
		}
	}
	return united, means
}
