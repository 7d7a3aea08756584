import { Link } from 'wouter'
import { Command } from '../../parts/cells.tsx'
import { PageHeader, Panel, Quiet } from '../../parts/layout.tsx'
import { plural } from '../../text/format.ts'
import type { ApiDocument, Group } from './document.ts'
import styles from './reference.module.css'

interface OverviewProps {
  readonly document: ApiDocument
  readonly groups: readonly Group[]
}

/** Getting started, and the groups of operations. */
export const Overview = ({ document, groups }: OverviewProps) => (
  <>
    <PageHeader title="API" />
    <Panel title={`${document.info.title} ${document.info.version}`}>
      <div className={styles.prose}>
        <p>{document.info.description}</p>
        <p>
          Programs send a key with each request; requests from this page use your session. The OpenAPI document is at{' '}
          <a href="/openapi.json">/openapi.json</a>.
        </p>
        <Command>svc keys create "my program" --scope devices:read</Command>
        <Command>{`curl -H "authorization: Bearer $SERVICE_API_KEY" ${window.location.origin}/api/v1/status`}</Command>
      </div>
    </Panel>
    {groups.map(({ name, description, operations }) => (
      <Panel key={name} title={name} aside={plural(operations.length, 'operation')}>
        <p>
          <Quiet>{description}</Quiet>
        </p>
        <ul className={styles.summaries}>
          {operations.map(({ id, summary }) => (
            <li key={id}>
              <Link href={`/docs/${id}`}>{summary}</Link>
            </li>
          ))}
        </ul>
      </Panel>
    ))}
  </>
)
