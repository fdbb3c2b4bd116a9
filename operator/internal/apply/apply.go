// Package apply is the one writer of a cluster's child objects: typed server-side apply with one field
// owner, and plain creation of pods. It remembers what it wrote, so that nothing is sent for an object that still is as it left it.
package apply

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
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
	text, err := json.Marshal(want)
	if err != nil {
		return fmt.Errorf("writing %T as JSON: %w", want, err)
	}
	var id struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(text, &id); err != nil {
		return fmt.Errorf("reading the name of %T: %w", want, err)
	}
	k := key{reflect.TypeOf(live), types.NamespacedName{Namespace: id.Metadata.Namespace, Name: id.Metadata.Name}}
	now := record{want: sha256.Sum256(text), cluster: types.NamespacedName{Namespace: owner.GetNamespace(), Name: owner.GetName()}}
	if done, err := w.remembers(k, now.want, live); done || err != nil {
		return err
	}
	if err := w.checkOwner(ctx, owner, k, live); err != nil {
		return err
	}
	if err := w.client.Apply(ctx, want, FieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s %s: %w", k.kind.Elem().Name(), k.name, err)
	}
	if err := fill(want, live); err != nil {
		return err
	}
	if now.live, err = fingerprint(live); err != nil {
		return err
	}
	now.version = live.GetResourceVersion()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[k] = now
	return nil
}

// Create makes what never changes once it is there: pods. That takes one request, where an apply takes two, and people wait for
// it. Where there is one already that the caches do not have yet, nothing is done; *ConflictError if it does not
// belong to owner.
func (w *Writer) Create(ctx context.Context, owner metav1.Object, want *corev1ac.PodApplyConfiguration) error {
	text, err := json.Marshal(want)
	if err != nil {
		return fmt.Errorf("writing %T as JSON: %w", want, err)
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(text, pod); err != nil {
		return fmt.Errorf("reading %T: %w", want, err)
	}
	k := key{reflect.TypeOf(pod), client.ObjectKeyFromObject(pod)}
	err = w.client.Create(ctx, pod, FieldOwner)
	switch {
	case apierrors.IsAlreadyExists(err):
		return client.IgnoreNotFound(w.checkOwner(ctx, owner, k, &corev1.Pod{}))
	case err != nil:
		return fmt.Errorf("creating %s %s: %w", k.kind.Elem().Name(), k.name, err)
	}
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

func (w *Writer) checkOwner(ctx context.Context, owner metav1.Object, k key, live client.Object) error {
	if live.GetResourceVersion() == "" {
		err := w.reader.Get(ctx, k.name, live)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("looking for %s %s: %w", k.kind.Elem().Name(), k.name, err)
		}
	}
	if !metav1.IsControlledBy(live, owner) {
		return &ConflictError{k.kind.Elem().Name(), k.name}
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

// fill copies the answer, which client.Apply leaves in the apply configuration, into a typed object. What that was before may share
// its maps with the caches, so it is emptied first and not changed.
func fill(from runtime.ApplyConfiguration, to client.Object) error {
	reflect.ValueOf(to).Elem().SetZero()
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		return fmt.Errorf("reading the answer to an apply of %T: %w", to, err)
	}
	return nil
}
