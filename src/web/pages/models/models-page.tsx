import { Link } from 'wouter'
import { FRAMEWORKS } from '../../../domain/model.ts'
import { useApi } from '../../api/use-api.ts'
import { Ago } from '../../parts/cells.tsx'
import { choices } from '../../parts/form.tsx'
import { Empty, Quiet } from '../../parts/layout.tsx'
import { createListState, ListPage } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { bytes } from '../../text/format.ts'
import { modelHref } from '../../url/hrefs.ts'
import { type Model, nameOf } from './model-records.ts'

const useListState = createListState('framework', choices('Any framework', FRAMEWORKS), 'Search models')

const COLUMNS: readonly Column<Model>[] = [
  { name: 'Model', cell: (model) => <Link href={modelHref(model.id)}>{nameOf(model)}</Link> },
  { name: 'Framework', cell: ({ framework }) => framework },
  {
    name: 'Size',
    number: true,
    cell: ({ model_size_bytes }) => (model_size_bytes === null ? <Quiet>none yet</Quiet> : bytes(model_size_bytes)),
  },
  { name: 'Description', cell: ({ description }) => description },
  { name: 'Added', number: true, cell: ({ created_at }) => <Ago time={created_at} /> },
]

/** The catalog of named models. Models made by single rounds are linked from their rounds. */
export const ModelsPage = () => {
  const { query, list, isFiltered } = useListState()
  return (
    <ListPage
      {...list}
      title="Models"
      noun="model"
      panel="Catalog"
      query={useApi('/api/v1/models', { query: { ...query, round_models: false } })}
      columns={COLUMNS}
      rows={({ models }) => models}
      rowKey="id"
      empty={
        <Empty
          title={isFiltered ? 'No model matches' : 'No models yet'}
          command="svc push weights.onnx --model-id my-model --version 1.0.0"
        >
          Upload a weight file; every upload under the same name becomes a new version:
        </Empty>
      }
    />
  )
}
