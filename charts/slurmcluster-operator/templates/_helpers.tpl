{{- define "operator.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "operator.labels" -}}
{{ include "operator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: slurmcluster
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Names of cluster-wide objects hold the namespace, so that two operators for different namespaces can exist. */}}
{{- define "operator.clusterName" -}}
{{ printf "%s:%s" .Release.Name .Release.Namespace }}
{{- end -}}

{{/* The rules come from the markers in the operator's source, by controller-gen. */}}
{{- define "operator.rules" -}}
{{ get (.Files.Get "files/role.yaml" | fromYaml) "rules" | toYaml }}
{{- end -}}

{{- define "operator.subjects" -}}
- kind: ServiceAccount
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{- define "operator.slurmImage" -}}
{{ .Values.slurmImage | default (printf "ghcr.io/slurmcluster/slurm:%s-trixie" .Chart.AppVersion) }}
{{- end -}}
