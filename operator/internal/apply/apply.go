// Package apply is the one writer of a cluster's child objects: plain creation, and typed server-side apply with one field
// owner for what changes later. It remembers what it wrote, so that nothing is sent for an object that still is as it left it.
package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// FieldOwner owns every field that the operator writes.
const FieldOwner = client.FieldOwner(contract.OperatorName)

// Writer writes child objects. It is safe for use by several goroutines.
type Writer struct {
	client client.Client
	reader client.Reader
	mu     sync.Mutex
	done   map[key]record
}

// ConflictError says that an object that a cluster needs is there already and is not the cluster's.
type ConflictError struct {
	Kind string
	Name types.NamespacedName
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s %s exists already and does not belong to this cluster; delete it, or give the cluster another name", e.Kind, e.Name)
}

type key struct {
	kind reflect.Type
	name types.NamespacedName
}

func (k key) String() string { return k.kind.Elem().Name() + " " + k.name.String() }

func (k key) conflict() error { return &ConflictError{k.kind.Elem().Name(), k.name} }

// record is what was wanted of an object, and what the object was after that was written.
type record struct {
	want, live [sha256.Size]byte
	// version is the last resource version that was found to be live.
	version string
	cluster types.NamespacedName
}

// New makes a Writer that writes through c. reader reads from the API server itself: the caches that c may
// read from only have objects with our labels.
func New(c client.Client, reader client.Reader) *Writer {
	return &Writer{client: c, reader: reader, done: map[key]record{}}
}

// Apply writes want, unless live is as the last Apply of the same want left it. live is the object as last
// seen, with an empty resource version if there is none; after a write it is filled with the answer. An
// object that owner does not own is left alone: *ConflictError.
func (w *Writer) Apply(ctx context.Context, owner metav1.Object, want runtime.ApplyConfiguration, live client.Object) error {
	content, hash, k, err := read(want, live)
	if err != nil {
		return err
	}
	now := record{want: hash, cluster: types.NamespacedName{Namespace: owner.GetNamespace(), Name: owner.GetName()}}
	// For operators to come.
	if err := unstructured.SetNestedField(content, hex.EncodeToString(hash[:]), "metadata", "annotations", contract.AnnotationApplied); err != nil {
		return fmt.Errorf("marking %s: %w", k, err)
	}
	if live.GetResourceVersion() == "" {
		made, err := w.create(ctx, content, k, live)
		if err != nil {
			return err
		}
		if made {
			return w.remember(k, now, live)
		}
		if err := w.checkOwner(ctx, owner, k, live); err != nil {
			return err
		}
	} else if !metav1.IsControlledBy(live, owner) {
		return k.conflict()
	}
	done, err := w.remembers(k, now.want, live)
	if done || err != nil {
		return err
	}
	if done, err = untouched(content, live); err != nil {
		return fmt.Errorf("looking at %s: %w", k, err)
	}
	if done {
		return w.remember(k, now, live)
	}
	if err := w.ownAsApplied(ctx, k); err != nil {
		return err
	}
	applied := &unstructured.Unstructured{Object: content}
	if err := w.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), FieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s: %w", k, err)
	}
	if err := fill(applied.Object, live); err != nil {
		return fmt.Errorf("reading the answer to an apply of %s: %w", k, err)
	}
	return w.remember(k, now, live)
}

// untouched tells whether an object was made of the same want, by an operator before this one, and still has all of it.
func untouched(want map[string]any, live client.Object) (bool, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return false, err
	}
	for name, value := range want {
		// Objects from caches do not say what they are.
		if name != "kind" && name != "apiVersion" && !has(content[name], value) {
			return false, nil
		}
	}
	return true, nil
}

// has tells whether live has all of want. Kubernetes adds fields to objects, also to those in lists, but nothing to lists, and
// leaves out what is empty.
func has(live, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := live.(map[string]any)
		if !ok && live != nil {
			return false
		}
		for name, value := range want {
			if !has(fields[name], value) {
				return false
			}
		}
		return true
	case []any:
		items, ok := live.([]any)
		if !ok && live != nil || len(items) != len(want) {
			return false
		}
		for i := range want {
			if !has(items[i], want[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(live, want) || live == nil && reflect.ValueOf(want).IsZero()
}

// Create makes an object unless it is there already, whether the caches have it yet or not, and fills live with what is there then.
// *ConflictError if that does not belong to owner.
func (w *Writer) Create(ctx context.Context, owner metav1.Object, want runtime.ApplyConfiguration, live client.Object) error {
	content, _, k, err := read(want, live)
	if err != nil {
		return err
	}
	if made, err := w.create(ctx, content, k, live); made || err != nil {
		return err
	}
	return w.checkOwner(ctx, owner, k, live)
}

// read returns what is wanted with its hash, and which object that is, which will be of live's type.
func read(want runtime.ApplyConfiguration, live client.Object) (content map[string]any, hash [sha256.Size]byte, k key, err error) {
	text, err := json.Marshal(want)
	if err == nil {
		err = utiljson.Unmarshal(text, &content) // whole numbers as such, as in live objects
	}
	if err != nil {
		return nil, hash, k, fmt.Errorf("writing %T as JSON: %w", want, err)
	}
	id := unstructured.Unstructured{Object: content}
	return content, sha256.Sum256(text), key{reflect.TypeOf(live), types.NamespacedName{Namespace: id.GetNamespace(), Name: id.GetName()}}, nil
}

// create makes an object, unless there is one of its name, and fills live with the answer. A plain creation costs the API server a
// fraction of a server-side apply, and says by itself whether there is one.
func (w *Writer) create(ctx context.Context, content map[string]any, k key, live client.Object) (bool, error) {
	if err := fill(content, live); err != nil {
		return false, fmt.Errorf("reading %s: %w", k, err)
	}
	err := w.client.Create(ctx, live, FieldOwner)
	switch {
	case apierrors.IsAlreadyExists(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("creating %s: %w", k, err)
	}
	return true, nil
}

// ownAsApplied makes the fields of an object that was created, not applied, the operator's as if it had applied them: Kubernetes
// would keep those that it no longer wants otherwise. The caches do not have what tells who owns what.
func (w *Writer) ownAsApplied(ctx context.Context, k key) error {
	now := reflect.New(k.kind.Elem()).Interface().(client.Object)
	if err := w.reader.Get(ctx, k.name, now); err != nil {
		return fmt.Errorf("looking for %s: %w", k, err)
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(now, sets.New(string(FieldOwner)), string(FieldOwner))
	if err != nil {
		return fmt.Errorf("finding out who owns the fields of %s: %w", k, err)
	}
	if patch == nil {
		return nil
	}
	if err := w.client.Patch(ctx, now, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		return fmt.Errorf("taking over the fields of %s: %w", k, err)
	}
	return nil
}

// remember keeps what was wanted of an object and what became of it.
func (w *Writer) remember(k key, now record, live client.Object) (err error) {
	if now.live, err = fingerprint(live); err != nil {
		return err
	}
	now.version = live.GetResourceVersion()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[k] = now
	return nil
}

// fingerprint tells versions of an object apart, but not those that differ only in what is not the operator's:
// a status changes on its own.
func fingerprint(o client.Object) ([sha256.Size]byte, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("looking at %T %s: %w", o, o.GetName(), err)
	}
	delete(content, "status")
	delete(content, "kind") // objects from caches do not say what they are
	delete(content, "apiVersion")
	unstructured.RemoveNestedField(content, "metadata", "resourceVersion")
	unstructured.RemoveNestedField(content, "metadata", "managedFields")
	text, err := json.Marshal(content)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("writing %T %s as JSON: %w", o, o.GetName(), err)
	}
	return sha256.Sum256(text), nil
}

// checkOwner reads an object that is there into live, and returns a *ConflictError if it is not owner's.
func (w *Writer) checkOwner(ctx context.Context, owner metav1.Object, k key, live client.Object) error {
	reflect.ValueOf(live).Elem().SetZero()
	if err := w.reader.Get(ctx, k.name, live); err != nil {
		return fmt.Errorf("looking for %s: %w", k, err)
	}
	if !metav1.IsControlledBy(live, owner) {
		return k.conflict()
	}
	return nil
}

// remembers tells whether an object still is as the Apply of the same want left it.
func (w *Writer) remembers(k key, want [sha256.Size]byte, live client.Object) (bool, error) {
	version := live.GetResourceVersion()
	w.mu.Lock()
	r, is := w.done[k]
	w.mu.Unlock()
	switch {
	case version == "" || !is || r.want != want:
		return false, nil
	case version == r.version:
		return true, nil
	}
	found, err := fingerprint(live)
	if err != nil || found != r.live {
		return false, err
	}
	r.version = version
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[k] = r
	return true, nil
}

// ForgetCluster drops what is remembered of a cluster's objects, when it is gone.
func (w *Writer) ForgetCluster(cluster types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.done, func(_ key, r record) bool { return r.cluster == cluster })
}

// fill copies content into a typed object. What that was before may share its maps with the caches, so it is emptied first and not
// changed.
func fill(content map[string]any, to client.Object) error {
	reflect.ValueOf(to).Elem().SetZero()
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}
