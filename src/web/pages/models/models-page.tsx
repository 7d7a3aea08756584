import { Link } from 'wouter'
import { FRAMEWORKS } from '../../../domain/model.ts'
import { useApi } from '../../api/use-api.ts'
import { Aside, Button, Choice, Empty, Filters, Loaded, PageHeader, Panel, Quiet } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { bytes, plural } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { type Model, nameOf, pathOf } from './types.ts'

const DEFAULTS = { framework: '', page: 1 }
const PAGE = 100
/** What single rounds have made is left out, by the service where it can. */
const NAMED_ONLY = { round_models: false }

const CHOICES = [['', 'Any framework'], ...FRAMEWORKS.map((name) => [name, name] as const)] as const

const COLUMNS: readonly Column<Model>[] = [
  { name: 'Model', cell: (model) => <Link href={pathOf(model)}>{nameOf(model)}</Link> },
  { name: 'Framework', cell: ({ framework }) => framework },
  {
    name: 'Size',
    number: true,
    cell: ({ model_size_bytes }) => (model_size_bytes === null ? <Quiet>none yet</Quiet> : bytes(model_size_bytes)),
  },
  { name: 'Description', cell: ({ description }) => description },
  { name: 'Added', number: true, cell: ({ created_at }) => <Ago time={created_at} /> },
]

/** The catalog: the models that people named. What single rounds have made is reached from their rounds. */
export const ModelsPage = () => {
  const [{ framework, page }, change] = usePageState(DEFAULTS)
  const query = useApi('/api/v1/models', {
    query: {
      limit: PAGE,
      ...NAMED_ONLY,
      offset: (page - 1) * PAGE,
      ...(framework !== '' && { framework: framework as Model['framework'] }),
    },
  })
  const pages = Math.max(1, Math.ceil((query.data?.total ?? 0) / PAGE))
  return (
    <>
      <PageHeader title="Models">
        <Aside>
          <Quiet>{query.data && plural(query.data.total, 'model')}</Quiet>
        </Aside>
      </PageHeader>
      <Filters>
        <Choice
          label="Framework"
          value={framework as (typeof CHOICES)[number][0]}
          options={CHOICES}
          onChange={(value) => change({ framework: value, page: 1 })}
        />
        {pages > 1 && (
          <Aside>
            <Button disabled={page <= 1} onClick={() => change({ page: page - 1 })}>
              Newer
            </Button>
            <Quiet>{`Page ${page} of ${pages}`}</Quiet>
            <Button disabled={page >= pages} onClick={() => change({ page: page + 1 })}>
              Older
            </Button>
          </Aside>
        )}
      </Filters>
      <Loaded query={query}>
        {({ models }) => (
          <Panel title="Catalog" flush>
            {models.length === 0 ? (
              <Empty
                title={framework === '' ? 'No model yet' : 'No model of this framework'}
                command="svc push my-model weights.onnx"
              >
                Upload a file of weights; every upload under the same name is a new version:
              </Empty>
            ) : (
              <Table
                label="Models"
                columns={COLUMNS}
                rows={models.filter(({ round_id }) => round_id === null)}
                rowKey={({ id }) => id}
              />
            )}
          </Panel>
        )}
      </Loaded>
    </>
  )
}
