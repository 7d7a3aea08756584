import { Route, Switch } from 'wouter'
import { useSession } from '../../api/session.ts'
import { useApi } from '../../api/use-api.ts'
import { Command } from '../../parts/cells.tsx'
import { Empty, Loaded, PageHeader, Panel } from '../../parts/layout.tsx'
import { NotFound } from '../../parts/not-found.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { ChatPage } from './chat-page.tsx'
import { EmbeddingsPage } from './embeddings-page.tsx'
import styles from './playground.module.css'

const TABS = [
  ['/playground', 'Chat'],
  ['/playground/embeddings', 'Embeddings'],
] as const

const NoServer = () => (
  <>
    <PageHeader title="Playground" />
    <Panel title="No inference server yet">
      <Empty title="Talk to a model from here">
        The service forwards requests to an inference server: svc serve or any OpenAI-compatible server. Start one with
        the included model, then start the service with its address.
      </Empty>
      <div className={styles.steps}>
        <Command>svc serve starter --port 8080</Command>
        <Command>SERVICE_INFERENCE_URL=http://127.0.0.1:8080 svc up</Command>
      </div>
    </Panel>
  </>
)

const Served = () => {
  const query = useApi('/api/v1/inference/models', {})
  const models = query.data?.data.map(({ id }) => id) ?? []
  return (
    <>
      {query.data === undefined && <PageHeader title="Playground" />}
      <Loaded query={query}>
        {() =>
          models.length === 0 ? (
            <Empty title="The inference server has no models" command="svc serve starter" />
          ) : (
            <Switch>
              <Route path="/playground">
                <ChatPage models={models} />
              </Route>
              <Route path="/playground/embeddings">
                <EmbeddingsPage models={models} />
              </Route>
              <Route component={NotFound} />
            </Switch>
          )
        }
      </Loaded>
    </>
  )
}

export const Area = () => {
  const session = useSession()
  if (session.data?.inference === false) return <NoServer />
  return (
    <>
      <Tabs label="Playground" tabs={TABS} />
      <Served />
    </>
  )
}
