import { Badge, type Tone, toneOf } from '../../parts/cells.tsx'

/** A plan that is active or started is at work, where an active device is well. */
export const planTone = (status: string): Tone =>
  status === 'active' || status === 'started' ? 'busy' : toneOf(status)

export const PlanBadge = ({ status }: { readonly status: string }) => <Badge state={status} tone={planTone(status)} />
