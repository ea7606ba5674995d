{{- define "walpost.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* The release's name has the chart's in it, or gets it: alerts look for it in the job. */}}
{{- define "walpost.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "walpost.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "walpost.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "walpost.selector" -}}
app.kubernetes.io/name: {{ include "walpost.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "walpost.labels" -}}
{{ include "walpost.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "walpost.serviceAccountName" -}}
{{- default (include "walpost.fullname" .) .Values.serviceAccount.existingName }}
{{- end }}

{{- /* walpost.conf of .Values.config. A value ends with its line and is not quoted. */}}
{{- define "walpost.conf" -}}
{{- $_ := required "config.postgres.conninfo must be set" (dig "postgres" "conninfo" "" .Values.config) }}
{{- $_ := required "config.kafka.bootstrap.servers must be set" (index (default dict .Values.config.kafka) "bootstrap.servers") }}
{{- range $section, $keys := .Values.config }}
{{- if $keys }}
[{{ $section }}]
{{- range $key, $value := $keys }}
{{- if kindIs "float64" $value }}
{{ $key }} = {{ if eq $value (floor $value) }}{{ int64 $value }}{{ else }}{{ $value }}{{ end }}
{{- else if contains "\n" (toString $value) }}
{{- fail (printf "config.%s.%s: a value is one line" $section $key) }}
{{- else }}
{{ $key }} = {{ $value }}
{{- end }}
{{- end }}
{{ end }}
{{- end }}
{{- end }}

{{- /* postgres.password -> WALPOST__POSTGRES__PASSWORD_FILE */}}
{{- define "walpost.variable" -}}
{{- $parts := splitn "." 2 . -}}
WALPOST__{{ upper $parts._0 }}__{{ $parts._1 | replace "." "_" | upper }}_FILE
{{- end }}

{{- define "walpost.egress" -}}
- ports:
    {{- range .ports }}
    - port: {{ . }}
      protocol: TCP
    {{- end }}
  {{- with .to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
