import { api, writeWithoutBody } from '../../api/client.ts'
import { Actions, Ago, Id } from '../../parts/cells.tsx'
import { ConfirmButton, DialogButton } from '../../parts/dialog.tsx'
import { Quiet } from '../../parts/layout.tsx'
import { TablePanel } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { bytes, plural } from '../../text/format.ts'
import { DeployDialog } from './deploy-dialog.tsx'
import { type ModelDetail, newestFirst, useGuard, type Version } from './model-records.ts'
import styles from './models.module.css'
import { MoveAlias } from './move-alias.tsx'
import { VersionMetadata } from './version-metadata.tsx'

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

/** Links to the file in its original format and to ready conversions. */
const Formats = ({ model, version }: { readonly model: ModelDetail; readonly version: Version }) => (
  <span className={styles.version}>
    <a href={downloadOf(model, version)} download title={`Download ${version.version_label}`}>
      {version.format}
    </a>
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

const columns = (model: ModelDetail, guard: ReturnType<typeof useGuard>): readonly Column<Version>[] => [
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
  { name: 'Download', cell: (version) => <Formats model={model} version={version} /> },
  ...(model.versions.some(({ metadata }) => Object.keys(metadata).length > 0)
    ? [{ name: 'Metadata', cell: (version: Version) => <VersionMetadata version={version} /> }]
    : []),
  { name: 'Size', number: true, cell: ({ model_size_bytes }) => bytes(model_size_bytes) },
  { name: 'SHA-256', cell: ({ model_hash }) => <Id id={model_hash.replace('sha256:', '')} /> },
  { name: 'Added', number: true, cell: ({ uploaded_at }) => <Ago time={uploaded_at} /> },
  {
    name: 'Actions',
    number: true,
    cell: (version) => (
      <Actions>
        <DialogButton
          {...guard}
          aria-label={`Alias of ${version.version_label}`}
          dialog={<MoveAlias model={model} version={version} />}
        >
          Alias
        </DialogButton>
        <DialogButton
          {...guard}
          aria-label={`Deploy ${version.version_label}`}
          dialog={<DeployDialog model={model} version={version.version_label} />}
        >
          Deploy
        </DialogButton>
        {model.round_id === null && (
          <ConfirmButton
            button={{ ...guard, tone: 'danger', 'aria-label': `Delete ${version.version_label}`, children: 'Delete' }}
            title={`Delete version ${version.version_label}?`}
            verb="Delete"
            name={version.version_label}
            act={() =>
              writeWithoutBody(
                api.DELETE('/api/v1/models/{model_id}/versions/{version}', {
                  params: { path: { model_id: model.id, version: String(version.version) } },
                }),
              )
            }
          >
            Its file is deleted and cannot be restored. Devices that already have the version keep it. The label is not
            used again.
          </ConfirmButton>
        )}
      </Actions>
    ),
  },
]

export const Versions = ({ model }: { readonly model: ModelDetail }) => (
  <TablePanel
    title="Versions"
    aside={plural(model.versions.length, 'version')}
    columns={columns(model, useGuard(model))}
    rows={newestFirst(model)}
    rowKey="version"
  />
)
