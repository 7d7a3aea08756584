/** Whoever may do everything may also read /metrics, which needs a scope of its own under token enrollment. */
export const metricsScope = {
  name: '0010b-metrics-scope',
  statements: [
    `update keys set grants = array_append(grants, 'metrics:read')
      where 'admin' = any(grants) and not 'metrics:read' = any(grants)`,
  ],
} as const
