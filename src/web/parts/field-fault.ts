import { createContext, useContext } from 'react'

/** What the service has against one field of a form. */
interface Fault {
  /** The API's name of the field, which the form's field has as its `name`. */
  readonly name: string
  /** What follows the name in the service's words. */
  readonly text: string
}

export const FieldFault = createContext<Fault | null>(null)

const ABOUT_FIELD = /^([a-z_]+(?:\.[a-z_]+|\[\d+\])*)(: | (?=must |is |cannot |may ))(.+)$/s

/** `name must be …` -> the fault of `name`, if the form has such a field; else null: it is told for the whole form. */
export const faultOf = (message: string, form: HTMLFormElement | null): Fault | null => {
  const [, name = '', , text = ''] = ABOUT_FIELD.exec(message) ?? []
  return name !== '' && form?.elements.namedItem(name) ? { name, text } : null
}

/** The fault of the field with this name and label, as it is shown there. */
export const useFieldFault = (name: string | undefined, label: string): string | null => {
  const fault = useContext(FieldFault)
  return fault !== null && fault.name === name ? `${label}: ${fault.text}` : null
}
