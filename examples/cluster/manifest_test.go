// Package cluster checks the manifest for Kubernetes against Kubernetes' own types.
package cluster

import (
	"os"
	"strconv"
	"testing"

	batch "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

func TestManifestIsAnIndexedJobWhosePodsKnowTheirNumber(t *testing.T) {
	text, err := os.ReadFile("kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var job batch.Job
	if err := yaml.UnmarshalStrict(text, &job); err != nil {
		t.Fatal(err)
	}
	spec := job.Spec
	if job.APIVersion != "batch/v1" || job.Kind != "Job" || spec.CompletionMode == nil || *spec.CompletionMode != batch.IndexedCompletion {
		t.Errorf("it is not an Indexed Job of batch/v1: %s %s", job.APIVersion, job.Kind)
	}
	shards := ""
	for _, e := range spec.Template.Spec.Containers[0].Env {
		if e.Name == "LOCKPICK_SHARDS" {
			shards = e.Value
		}
	}
	if shards != strconv.Itoa(int(*spec.Completions)) {
		t.Errorf("the pods expect %q shards, and the job starts %d", shards, *spec.Completions)
	}
	if spec.BackoffLimitPerIndex == nil || spec.Template.Spec.RestartPolicy != "Never" {
		t.Error("backoffLimitPerIndex needs restartPolicy: Never") // as the API server says
	}
}
