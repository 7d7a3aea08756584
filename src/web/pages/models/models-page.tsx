import { Link } from 'wouter'
import { FRAMEWORKS } from '../../../domain/model.ts'
import { useApi } from '../../api/use-api.ts'
import { Ago } from '../../parts/cells.tsx'
import { Choice, choices } from '../../parts/form.tsx'
import { Empty, Quiet } from '../../parts/layout.tsx'
import { ListPage, pageQuery } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { bytes } from '../../text/format.ts'
import { modelHref } from '../../url/hrefs.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { type Model, nameOf } from './model-records.ts'

const DEFAULTS = { framework: '', page: 1 }

const CHOICES = choices('Any framework', FRAMEWORKS)
const WORDS = { framework: CHOICES }

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
  const [{ framework, page }, change] = usePageState(DEFAULTS, WORDS)
  const query = { ...pageQuery(page), round_models: false, framework: framework as Model['framework'] }
  return (
    <ListPage
      title="Models"
      noun="model"
      panel="Catalog"
      query={useApi('/api/v1/models', { query })}
      filters={
        <Choice
          label="Framework"
          value={framework}
          options={CHOICES}
          onChange={(value) => change({ framework: value, page: 1 })}
        />
      }
      page={page}
      onPage={(next) => change({ page: next })}
      columns={COLUMNS}
      rows={({ models }) => models}
      rowKey="id"
      empty={
        <Empty
          title={framework === '' ? 'No models yet' : 'No model has this framework'}
          command="svc push weights.onnx --model-id my-model --version 1.0.0"
        >
          Upload a weight file; every upload under the same name becomes a new version:
        </Empty>
      }
    />
  )
}
