import { Link } from 'wouter'
import { useApi } from '../api/use-api.ts'
import { hasId, withPlanLinks } from './plan-links.ts'

const MAX_EXPERIMENTS = 1000
/** The newest ones; an older plan's id is shown as it is. */
const MAX_OTHERS = 100

/** The service's warning, with links in place of the ids of running experiments, deployments, and rollouts. */
export const WarningText = ({ text }: { readonly text: string }) => {
  const options = { enabled: hasId(text) }
  const query = { status: 'running', limit: MAX_EXPERIMENTS } as const
  const experiments = useApi('/api/v1/experiments', { query }, options)
  const deployments = useApi('/api/v1/deployments', { query: { limit: MAX_OTHERS } }, options)
  const rollouts = useApi('/api/v1/rollouts', { query: { limit: MAX_OTHERS } }, options)
  const parts = withPlanLinks(text, {
    experiments: experiments.data?.experiments ?? [],
    deployments: deployments.data?.deployments ?? [],
    rollouts: rollouts.data?.rollouts ?? [],
  })
  return parts.map((part) =>
    typeof part === 'string' ? (
      part
    ) : (
      <Link key={part.href} href={part.href}>
        {part.name}
      </Link>
    ),
  )
}
