import { expect, it } from 'vitest'
import { asDeletedMeanwhile } from './outages.ts'

it('names the field whose object was deleted, whatever the language of the database server', () => {
  const error = Object.assign(
    new Error(
      'Einfügen oder Aktualisieren in Tabelle »plan_reports« verletzt Fremdschlüssel-Constraint »plan_reports_device_id_fkey«',
    ),
    {
      code: '23503',
      detail: 'Schlüssel (device_id)=(1) ist nicht in Tabelle »devices« vorhanden.',
      table: 'plan_reports',
      constraint: 'plan_reports_device_id_fkey',
    },
  )
  expect(asDeletedMeanwhile(error)?.toJSON()).toEqual({
    error: 'conflict',
    message: 'Something that this request refers to was deleted while it ran (device_id). Check what still exists.',
    status_code: 409,
  })
  expect(asDeletedMeanwhile(Object.assign(new Error('x'), { code: '23505' }))).toBeUndefined()
})
