import { Badge, type Tone, toneOf } from '../../parts/cells.tsx'

/** An active or started plan is in progress, whereas an active device is healthy. */
export const planTone = (status: string): Tone =>
  status === 'active' || status === 'started' ? 'busy' : toneOf(status)

export const PlanBadge = ({ status }: { readonly status: string }) => <Badge state={status} tone={planTone(status)} />
