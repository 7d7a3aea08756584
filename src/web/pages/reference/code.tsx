import { CopyButton } from '../../parts/cells.tsx'
import styles from './reference.module.css'

/** Code or a response, with a copy button. */
export const Code = ({ label, text }: { readonly label: string; readonly text: string }) => (
  <div className={styles.code}>
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: makes it scrollable by keyboard
      tabIndex={0}
    >
      <pre>{text}</pre>
    </section>
    <CopyButton text={text} what={label} />
  </div>
)
