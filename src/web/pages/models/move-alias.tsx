import { useLocation } from 'wouter'
import { api, write } from '../../api/client.ts'
import { FormDialog } from '../../parts/dialog.tsx'
import { Outcome, Suggestions, TextField, useFields } from '../../parts/form.tsx'
import { type ModelDetail, nameOf, type Version } from './model-records.ts'

/** Creates an alias or moves it to a version. Fails if the alias has been moved since this page was loaded. */
export const MoveAlias = ({ model, version }: { readonly model: ModelDetail; readonly version: Version }) => {
  const [, navigate] = useLocation()
  const [{ alias }, field] = useFields({ alias: '' })
  const holder = model.versions.find(({ aliases }) => aliases.includes(alias))
  const known = [...new Set([...model.versions.flatMap(({ aliases }) => aliases), 'production', 'candidate'])]
  const isHere = holder?.version === version.version
  return (
    <FormDialog
      title={`Set an alias for version ${version.version_label}`}
      verb={holder === undefined ? 'Set alias' : isHere ? 'Close' : `Move ${alias}`}
      act={async () => {
        if (isHere) return
        const params = { path: { model_id: model.id, alias } }
        const expected_version = holder === undefined ? null : String(holder.version)
        const body = { version: String(version.version), expected_version }
        const made = await write(api.PUT('/api/v1/models/{model_id}/aliases/{alias}', { params, body }))
        // The request waits for another admin. The approvals page shows it and can withdraw it.
        if ('requested_by' in made) navigate('/organization/approvals')
      }}
    >
      <TextField
        label="Alias"
        hint="Such as production. An alias can be used wherever a version can."
        required
        pattern="(?![vV]?\d)[A-Za-z][A-Za-z0-9_\-]{0,62}"
        title="Letters, digits, -, and _; must begin with a letter and not look like a version number"
        list="aliases"
        {...field('alias')}
      />
      <Suggestions id="aliases" values={known} />
      {alias !== '' && (
        <Outcome>
          <p>
            {isHere
              ? `${alias} already points to version ${version.version_label}.`
              : holder === undefined
                ? `${nameOf(model)}@${alias} will point to version ${version.version_label}.`
                : `${nameOf(model)}@${alias} points to version ${holder.version_label} and will point to ${version.version_label}.`}
          </p>
          {!isHere && (
            <p>Rollouts in progress keep the version they started with; pulls and new rollouts get this one.</p>
          )}
        </Outcome>
      )}
    </FormDialog>
  )
}
