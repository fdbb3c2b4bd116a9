package create

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"
	kjson "sigs.k8s.io/json"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

const explain = "see: kubectl explain slurmcluster.spec --recursive"

// checkSet checks the form of --set. Whether there is such a field is seen where the spec is made.
func (o *Options) checkSet() error {
	for _, text := range o.Set {
		parsed, err := strvals.Parse(text)
		if err != nil || len(parsed) == 0 {
			return fmt.Errorf("--set %q: write PATH=VALUE, such as suspend=true or partitions[0].name=day", text)
		}
		if _, ofNodes := parsed["nodeSets"]; ofNodes {
			o.nodesGiven = true // they are changed, so they are not the class's
		}
	}
	return nil
}

// setField applies one --set to a spec.
func setField(spec *v1alpha1.SlurmClusterSpec, text string) error {
	err := setAs(spec, text, strvals.ParseInto)
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) {
		return err
	}
	// What looks like a number or a truth value may be text to the API, such as the value of a label.
	if setAs(spec, text, strvals.ParseIntoString) == nil {
		return nil
	}
	if strings.Contains(text, ",") {
		return fmt.Errorf("--set %s: field %s takes no %s; if it is meant as text, give it a --set of its own", text, mismatch.Field, mismatch.Value)
	}
	return fmt.Errorf("--set %s: field %s takes no %s; %s", text, mismatch.Field, mismatch.Value, explain)
}

func setAs(spec *v1alpha1.SlurmClusterSpec, text string, parse func(string, map[string]any) error) error {
	data, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("writing the spec: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("reading the spec: %w", err)
	}
	if err := parse(text, fields); err != nil {
		return fmt.Errorf("--set %s: the path does not lead to a field; %s", text, explain)
	}
	if missing := gap("", fields); missing != "" {
		return fmt.Errorf("--set %s: there is no %s; a list begins with [0] and has no gaps", text, missing)
	}
	if data, err = json.Marshal(fields); err != nil {
		return fmt.Errorf("writing the spec: %w", err)
	}
	var changed v1alpha1.SlurmClusterSpec
	unknown, err := kjson.UnmarshalStrict(data, &changed)
	if err != nil {
		return fmt.Errorf("--set %s: %w", text, err)
	}
	var field kjson.FieldError
	if errors.As(errors.Join(unknown...), &field) {
		return fmt.Errorf("--set %s: there is no field %s in the spec of a SlurmCluster; %s", text, field.FieldPath(), explain)
	}
	*spec = changed
	return nil
}

// gap is the path of an element of a list that is not there while a later one is, or "".
func gap(path string, value any) string {
	switch value := value.(type) {
	case map[string]any:
		if path != "" {
			path += "."
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if found := gap(path+key, value[key]); found != "" {
				return found
			}
		}
	case []any:
		for i, element := range value {
			at := fmt.Sprintf("%s[%d]", path, i)
			if element == nil {
				return at
			}
			if found := gap(at, element); found != "" {
				return found
			}
		}
	}
	return ""
}
