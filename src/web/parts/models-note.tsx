import type { ModelChoices } from '../api/choices.ts'
import { Problem, Quiet } from './layout.tsx'

/** Below a choice of models: says that some are missing, or why none could be loaded. */
export const ModelsNote = ({ choices: { error, note, refetch } }: { readonly choices: ModelChoices }) => {
  if (error !== null) return <Problem error={error} retry={refetch} />
  return note !== null && <Quiet>{note}</Quiet>
}
