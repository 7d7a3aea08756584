import { Link } from 'wouter'
import { useApi } from '../api/use-api.ts'

const ID = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/
const MAX_EXPERIMENTS = 1000

/** The service's warning about a rollout, with the names of the running experiments whose ids are in it. */
export const WarningText = ({ text }: { readonly text: string }) => {
  const query = { status: 'running', limit: MAX_EXPERIMENTS } as const
  const running = useApi('/api/v1/experiments', { query }, { enabled: ID.test(text) })
  return text.split(ID).map((part) => {
    const found = running.data?.experiments.find(({ id }) => id === part)
    return found === undefined ? (
      part
    ) : (
      <Link key={part} href={`/experiments/${part}`}>
        {found.name}
      </Link>
    )
  })
}
