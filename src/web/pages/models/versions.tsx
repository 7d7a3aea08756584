import { useState } from 'react'
import { Actions, Ago, Id } from '../../parts/cells.tsx'
import { Button, Panel, Quiet } from '../../parts/layout.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { bytes, plural } from '../../text/format.ts'
import { type ModelDetail, newestFirst, useSharedNote, type Version } from './model-records.ts'
import styles from './models.module.css'
import { MoveAlias } from './move-alias.tsx'

export const AliasNames = ({ aliases }: { readonly aliases: readonly string[] }) =>
  aliases.length > 0 && (
    <span className={styles.aliases}>
      {aliases.map((alias) => (
        <span key={alias} className={styles.alias}>
          {alias}
        </span>
      ))}
    </span>
  )

const downloadOf = (model: ModelDetail, { version }: Version): string =>
  `/api/v1/models/${model.id}/versions/${version}/download`

/** The original format and conversions; ready ones are links. */
const Formats = ({ model, version }: { readonly model: ModelDetail; readonly version: Version }) => (
  <span className={styles.version}>
    {version.format}
    {version.formats.map(({ format, state, reason }) =>
      state === 'ready' ? (
        <a key={format} href={`${downloadOf(model, version)}?format=${format}`} download>
          {format}
        </a>
      ) : (
        <Quiet key={format}>
          <span title={reason ?? undefined}>
            {format} {state}
          </span>
        </Quiet>
      ),
    )}
  </span>
)

const columns = (
  model: ModelDetail,
  sharedNote: string | null,
  onAlias: (version: Version) => void,
  onDeploy: (version: string) => void,
): readonly Column<Version>[] => [
  {
    name: 'Version',
    cell: ({ version, version_label, aliases }) => (
      <span className={styles.version}>
        <strong>{version_label}</strong>
        {version === model.versions.at(-1)?.version && <Quiet>latest</Quiet>}
        <AliasNames aliases={aliases} />
      </span>
    ),
  },
  { name: 'Formats', cell: (version) => <Formats model={model} version={version} /> },
  { name: 'Size', number: true, cell: ({ model_size_bytes }) => bytes(model_size_bytes) },
  { name: 'SHA-256', cell: ({ model_hash }) => <Id id={model_hash.replace('sha256:', '')} /> },
  { name: 'Added', number: true, cell: ({ uploaded_at }) => <Ago time={uploaded_at} /> },
  {
    name: 'Actions',
    number: true,
    cell: (version) => (
      <Actions>
        <a href={downloadOf(model, version)} download aria-label={`Download ${version.version_label}`}>
          Download
        </a>
        <Button
          needs="models:write"
          disabled={sharedNote !== null}
          title={sharedNote ?? undefined}
          aria-label={`Alias of ${version.version_label}`}
          onClick={() => onAlias(version)}
        >
          Alias
        </Button>
        <Button
          needs="models:write"
          disabled={sharedNote !== null}
          title={sharedNote ?? undefined}
          aria-label={`Deploy ${version.version_label}`}
          onClick={() => onDeploy(version.version_label)}
        >
          Deploy
        </Button>
      </Actions>
    ),
  },
]

export const Versions = ({
  model,
  onDeploy,
}: {
  readonly model: ModelDetail
  readonly onDeploy: (version: string) => void
}) => {
  const [naming, setNaming] = useState<Version | null>(null)
  return (
    <Panel title="Versions" aside={plural(model.versions.length, 'version')} flush>
      <Table
        label="Versions"
        columns={columns(model, useSharedNote(model), setNaming, onDeploy)}
        rows={newestFirst(model)}
        rowKey={({ version }) => String(version)}
      />
      {naming && <MoveAlias model={model} version={naming} onClose={() => setNaming(null)} />}
    </Panel>
  )
}
