import { createContext, useContext } from 'react'

/** The service's error about one field of a form. */
interface Fault {
  /** The API's field name, which is also the form field's `name`. */
  readonly name: string
  /** The service's message after the field name. */
  readonly text: string
}

export const FieldFault = createContext<Fault | null>(null)

const ABOUT_FIELD = /^([a-z_]+(?:\.[a-z_]+|\[\d+\])*)(: | (?=must |is |cannot |may ))(.+)$/s

/** `name must be …` -> the fault of `name`; null if the form has no such field, and the message is shown for the whole form. */
export const faultOf = (message: string, form: HTMLFormElement | null): Fault | null => {
  const [, name = '', , text = ''] = ABOUT_FIELD.exec(message) ?? []
  return name !== '' && form?.elements.namedItem(name) ? { name, text } : null
}

/** Returns the error to show at the field with this name and label, or null. */
export const useFieldFault = (name: string | undefined, label: string): string | null => {
  const fault = useContext(FieldFault)
  return fault !== null && fault.name === name ? `${label}: ${fault.text}` : null
}
