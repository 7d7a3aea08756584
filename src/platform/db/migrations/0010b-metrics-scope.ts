/** Lets keys with admin also read /metrics, which requires a separate scope under token enrollment. */
export const metricsScope = {
  name: '0010b-metrics-scope',
  statements: [
    `update keys set grants = array_append(grants, 'metrics:read')
      where 'admin' = any(grants) and not 'metrics:read' = any(grants)`,
  ],
} as const
