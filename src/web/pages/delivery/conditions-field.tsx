import type { components } from '../../../client/client.ts'
import { conditionOrFault, conditionTexts } from '../../../domain/condition-text.ts'
import { TextField } from '../../parts/form.tsx'

type Conditions = NonNullable<components['schemas']['NewGroup']['filter']>

/** Reads `platform=android and memory_gb>=6`. @throws Error about the form's field `filter` */
export const conditionsIn = (text: string): Conditions =>
  conditionTexts(text).map((part) => {
    const condition = conditionOrFault(part)
    if (typeof condition === 'string') throw new Error(`filter: ${part}: ${condition}`)
    return condition as Conditions[number]
  })

interface Props {
  readonly name: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly required?: boolean
}

/** The conditions of a dynamic group, joined with `and`. */
export const ConditionsField = (props: Props) => (
  <TextField
    label="Conditions"
    hint="With conditions, the group always has exactly the devices that meet them, such as: platform=android and memory_gb>=6"
    spellCheck={false}
    {...props}
  />
)
