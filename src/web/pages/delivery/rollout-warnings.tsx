import { Fragment } from 'react'
import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'

const ID = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/

const ExperimentLink = ({ id }: { readonly id: string }) => {
  const experiment = useApi('/api/v1/experiments/{experiment_id}', { path: { experiment_id: id } })
  return <Link href={`/experiments/${id}`}>{experiment.data?.name ?? id}</Link>
}

/** The service's warning about a rollout. It names other plans by their ids, each warning those of one kind: they become links. */
export const WarningText = ({ text, modelId }: { readonly text: string; readonly modelId: string }) =>
  text.split(ID).map((part, index) => {
    // biome-ignore lint/suspicious/noArrayIndexKey: the same words may be between two ids
    if (!ID.test(part)) return <Fragment key={index}>{part}</Fragment>
    if (text.startsWith('Running experiments')) return <ExperimentLink key={part} id={part} />
    const area = text.startsWith('Unfinished deployments') ? 'deployments' : `rollouts/${modelId}`
    return (
      <Link key={part} href={`/delivery/${area}/${part}`}>
        {part}
      </Link>
    )
  })
