import { useState } from 'react'
import { useLocation } from 'wouter'
import { api } from '../../api/client.ts'
import { write } from '../../api/write.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { Fields, Outcome, TextField } from '../../parts/form.tsx'
import { type ModelDetail, nameOf, type Version } from './types.ts'

/** Names a version, or moves a name to it: only if nobody else has moved it since this page was read. */
export const MoveAlias = ({
  model,
  version,
  onClose,
}: {
  readonly model: ModelDetail
  readonly version: Version
  readonly onClose: () => void
}) => {
  const [, navigate] = useLocation()
  const [alias, setAlias] = useState('')
  const holder = model.versions.find(({ aliases }) => aliases.includes(alias))
  const known = [...new Set([...model.versions.flatMap(({ aliases }) => aliases), 'production', 'candidate'])]
  const isHere = holder?.version === version.version
  return (
    <Confirm
      title={`Name version ${version.version_label}`}
      verb={holder === undefined ? 'Name it' : isHere ? 'Close' : `Move ${alias}`}
      tone="primary"
      onClose={onClose}
      act={async () => {
        if (isHere) return
        const made = await write(
          api.PUT('/api/v1/models/{model_id}/aliases/{alias}', {
            params: { path: { model_id: model.id, alias } },
            body: {
              version: String(version.version),
              expected_version: holder === undefined ? null : String(holder.version),
            },
          }),
        )
        // It waits for another admin: there it is seen, and withdrawn.
        if ('requested_by' in made) navigate('/organization/approvals')
      }}
    >
      <Fields>
        <TextField
          label="Alias"
          hint="Such as production. Wherever a version is asked for, its alias will do."
          required
          pattern="(?![vV]?\d)[A-Za-z][A-Za-z0-9_\-]{0,62}"
          title="Letters, digits, - and _, beginning with a letter, and not like a version number"
          list="aliases"
          value={alias}
          onChange={(event) => setAlias(event.target.value)}
        />
        <datalist id="aliases">
          {known.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        {alias !== '' && (
          <Outcome>
            <p>
              {isHere
                ? `${alias} names version ${version.version_label} already.`
                : holder === undefined
                  ? `${nameOf(model)}@${alias} will be version ${version.version_label}.`
                  : `${nameOf(model)}@${alias} is version ${holder.version_label} now and will be ${version.version_label}.`}
            </p>
            {!isHere && (
              <p>Rollouts under way keep the version that they were started with; pulls and new ones get this.</p>
            )}
          </Outcome>
        )}
      </Fields>
    </Confirm>
  )
}
