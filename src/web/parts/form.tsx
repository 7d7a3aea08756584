import { type ComponentProps, type ReactNode, useId, useState } from 'react'
import { stateName } from '../text/format.ts'
import { useFieldFault } from './field-fault.ts'
import styles from './form.module.css'

/** Form fields in a column; in a `FieldRow`, side by side. */
export const Fields = ({ children }: { readonly children: ReactNode }) => (
  <div className={styles.fields}>{children}</div>
)

export const FieldRow = ({ children }: { readonly children: ReactNode }) => <div className={styles.row}>{children}</div>

/** The values of a form, and the properties of each value's field. Its name is the API's, so that errors are shown at it. */
export const useFields = <Values extends object>(initial: Values | (() => Values)) => {
  const [values, setValues] = useState(initial)
  const field = <Name extends keyof Values & string>(name: Name) => ({
    name,
    value: values[name],
    onChange: (value: Values[Name]): void => setValues((now) => ({ ...now, [name]: value })),
  })
  return [values, field] as const
}

type InputProps<Value> = Omit<ComponentProps<'input'>, 'value' | 'onChange'> & {
  readonly label: string
  readonly value?: Value
  readonly onChange?: (value: Value) => void
}

/** The service's error about a field. */
const Wrong = ({ id, text }: { readonly id: string; readonly text: string | null }) =>
  text !== null && (
    <small id={id} role="alert" className={styles.wrong}>
      {text}
    </small>
  )

/** The value is trimmed, except in a password field; the field itself keeps the spaces. */
export const TextField = ({
  label,
  hint,
  value,
  onChange,
  ...rest
}: InputProps<string> & { readonly hint?: string }) => {
  const id = useId()
  const [typed, setTyped] = useState('')
  const wrong = useFieldFault(rest.name, label)
  const read = (text: string): string => (rest.type === 'password' ? text : text.trim())
  const about = [hint !== undefined && `${id}-hint`, wrong !== null && `${id}-wrong`].filter(Boolean).join(' ')
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        autoComplete="off"
        aria-describedby={about || undefined}
        aria-invalid={wrong === null ? undefined : true}
        {...rest}
        value={value === undefined || read(typed) !== value ? value : typed}
        onChange={
          onChange &&
          (({ target }) => {
            const isBlank = rest.required && target.value !== '' && read(target.value) === ''
            target.setCustomValidity(isBlank ? 'Enter more than spaces.' : '')
            setTyped(target.value)
            onChange(read(target.value))
          })
        }
      />
      {hint && <small id={`${id}-hint`}>{hint}</small>}
      <Wrong id={`${id}-wrong`} text={wrong} />
    </div>
  )
}

/** A number between `min` and `max`; it stays text until the form is sent. */
export const NumberField = ({
  label,
  unit,
  value,
  onChange,
  ...rest
}: Required<Pick<InputProps<number>, 'value' | 'onChange'>> & InputProps<number> & { readonly unit?: string }) => {
  const id = useId()
  const wrong = useFieldFault(rest.name, label)
  return (
    <div className={styles.field}>
      <label htmlFor={id}>
        {label}
        {unit && `, ${unit}`}
      </label>
      <input
        id={id}
        {...rest}
        type="number"
        required
        aria-describedby={wrong === null ? undefined : `${id}-wrong`}
        aria-invalid={wrong === null ? undefined : true}
        value={Number.isNaN(value) ? '' : value}
        onChange={(event) => onChange(event.target.valueAsNumber)}
      />
      <Wrong id={`${id}-wrong`} text={wrong} />
    </div>
  )
}

/** The shell focuses the field with `data-search` when `/` is pressed. */
export const SearchField = ({ label, onChange, ...rest }: InputProps<string>) => (
  <input
    {...rest}
    type="search"
    data-search=""
    aria-label={label}
    placeholder={label}
    className={styles.bare}
    onChange={onChange && ((event) => onChange(event.target.value))}
  />
)

interface SelectProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly options: readonly (readonly [value: Value, label: string])[]
  readonly onChange: (value: Value) => void
}

/** A select without a visible label, for the row above a list. */
export const Choice = <Value extends string>({ label, value, options, onChange }: SelectProps<Value>) => (
  <select
    aria-label={label}
    className={styles.bare}
    value={value}
    onChange={(event) => onChange(event.target.value as Value)}
  >
    {options.map(([option, name]) => (
      <option key={option} value={option}>
        {name}
      </option>
    ))}
  </select>
)

export const SelectField = <Value extends string>(props: SelectProps<Value>) => (
  // biome-ignore lint/a11y/noLabelWithoutControl: Choice contains the select
  <label className={styles.field}>
    <span>{props.label}</span>
    <Choice {...props} />
  </label>
)

/** Returns options for `names`, preceded by one for all: `choices('Any status', ['active'])`. */
export const choices = <Name extends string>(
  any: string,
  names: readonly Name[],
): readonly (readonly [Name | '', string])[] => [['', any], ...names.map((name) => [name, stateName(name)] as const)]

interface SuggestionsProps {
  readonly id: string
  readonly values: readonly string[]
  readonly labels?: ReadonlyMap<string, string>
}

/** Suggestions for the text field with this id as its `list`. `labels` explain values that do not speak for themselves. */
export const Suggestions = ({ id, values, labels }: SuggestionsProps) => (
  <datalist id={id}>
    {values.map((value) => (
      <option key={value} value={value}>
        {labels?.get(value)}
      </option>
    ))}
  </datalist>
)

interface CheckFieldProps {
  readonly label: ReactNode
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
}

export const CheckField = ({ label, checked, onChange }: CheckFieldProps) => (
  <label className={styles.check}>
    <input type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} />
    <span>{label}</span>
  </label>
)

/** The effect of the form as filled in, shown before it is sent. */
export const Outcome = ({ children }: { readonly children: ReactNode }) => (
  <div className={styles.outcome} role="status">
    {children}
  </div>
)
