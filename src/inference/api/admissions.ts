import type { Engine } from '../engines/engine.ts'
import { type Admission, type AdmissionOptions, createAdmission } from '../runtime/queue/admission.ts'

/** Each engine's own queue. */
export interface Admissions {
  of(engine: Engine): Admission
}

export const createAdmissions = (options: Omit<AdmissionOptions, 'slots'>): Admissions => {
  const known = new WeakMap<Engine, Admission>()
  return {
    of(engine) {
      let admission = known.get(engine)
      if (admission === undefined) {
        admission = createAdmission({ ...options, slots: engine.slots })
        known.set(engine, admission)
      }
      return admission
    },
  }
}
