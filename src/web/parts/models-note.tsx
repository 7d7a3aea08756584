import type { ModelChoices } from '../api/choices.ts'
import { Problem, Quiet, useLastError } from './layout.tsx'

/** Below a choice of models: says that some are missing, or why none could be loaded. */
export const ModelsNote = ({ choices }: { readonly choices: ModelChoices }) => {
  const { note, refetch, isLoaded } = choices
  const error = useLastError({ data: isLoaded || undefined, error: choices.error })
  if (error !== null) return <Problem error={error} retry={refetch} />
  return note !== null && <Quiet>{note}</Quiet>
}
