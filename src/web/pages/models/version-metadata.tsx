import { CloseButton, Dialog, DialogButton } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/layout.tsx'
import type { Version } from './model-records.ts'

const Entries = ({ version_label, metadata }: Version) => {
  const entries = Object.entries(metadata).map(([key, value]) => [key, String(value)] as const)
  return (
    <Dialog title={`Metadata of version ${version_label}`}>
      <Facts entries={entries.sort(([one], [other]) => (one < other ? -1 : 1))} />
      <CloseButton />
    </Dialog>
  )
}

/** A button that shows what was recorded with the version, if anything was. */
export const VersionMetadata = ({ version }: { readonly version: Version }) => {
  const count = Object.keys(version.metadata).length
  return (
    count > 0 && (
      <DialogButton aria-label={`Metadata of ${version.version_label}`} dialog={<Entries {...version} />}>
        {count === 1 ? '1 entry' : `${count} entries`}
      </DialogButton>
    )
  )
}
