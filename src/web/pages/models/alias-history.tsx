import { useApi, WITHOUT_EVENTS } from '../../api/use-api.ts'
import { Empty, Loaded, Panel, Quiet } from '../../parts/layout.tsx'
import { Timeline } from '../../parts/timeline.tsx'
import { type ModelDetail, nameOf, useSharedNote } from './model-records.ts'

const moveText = (from: string | null, to: string | null): string => {
  if (to === null) return `was removed from ${from}`
  return from === null ? `was set to ${to}` : `moved from ${from} to ${to}`
}

/** Alias moves: who, which, and when. */
export const AliasHistory = ({ model }: { readonly model: ModelDetail }) => {
  const params = { path: { model_id: model.id }, query: { limit: 20 } }
  const isShared = useSharedNote(model) !== null
  const query = useApi('/api/v1/models/{model_id}/alias-history', params, isShared ? WITHOUT_EVENTS : {})
  return (
    <Panel title="Aliases">
      <Loaded query={query}>
        {({ moves }) =>
          moves.length === 0 ? (
            <Empty title="No aliases yet" command={`svc models promote ${nameOf(model)} latest production`}>
              An alias such as production points to a version and can be moved to another:
            </Empty>
          ) : (
            <Timeline
              moments={moves.map((move) => ({
                key: `${move.alias} ${move.moved_at}`,
                tone: move.to_version === null ? 'idle' : 'good',
                text: (
                  <>
                    <strong>{move.alias}</strong> {moveText(move.from_version_label, move.to_version_label)}{' '}
                    {move.moved_by_name !== null && <Quiet>by {move.moved_by_name}</Quiet>}
                  </>
                ),
                time: move.moved_at,
              }))}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}
