import { CONVERTED_FORMATS, type ConvertedFormat } from '../../domain/model.ts'
import type { Connection } from '../connection.ts'
import { modelNamed, nullIfNotFound } from '../model-sources/catalog.ts'
import type { Session } from '../session.ts'
import { push } from '../uploads/push.ts'
import { pushSourceOf, requireModelName } from '../uploads/push-source.ts'

/** Uploads the file as the next version of the model with its name. The service does the conversions itself. */
export const pushConverted = async (
  path: string,
  formats: readonly string[],
  connection: Connection,
  session: Session,
): Promise<void> => {
  const pushed = await pushSourceOf(path, session)
  const name = requireModelName(pushed.name, 'file')
  const model = await nullIfNotFound(modelNamed(connection, name))
  const last = Math.max(0, ...(model?.versions.map(({ version }) => version) ?? []))
  const requested = formats.filter((name): name is ConvertedFormat =>
    (CONVERTED_FORMATS as readonly string[]).includes(name),
  )
  const options = { connection, model: name, version: `${last + 1}.0.0`, formats: requested }
  const { version } = await push(pushed, options, session)
  session.out.note(`Pushed ${pushed.fileName} as version ${version.version_label} of ${name}.`)
}
