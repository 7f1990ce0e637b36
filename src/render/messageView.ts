/** The part of a message that renderers look at; `MessageBody` of the platforms' seam is one. */
export interface MessageView {
  markdown: string
  kind: 'answer' | 'activity' | 'notice' | 'card'
  /** A preview that will be replaced. */
  live?: boolean
  /** Small print below, plain text. */
  footer?: string
  buttons?: ButtonView[]
  /** Ids of people whose mention in the text may notify them. */
  mentions?: string[]
}

export interface ButtonView {
  action: string
  label: string
  style: 'primary' | 'danger' | 'plain'
  value: string
}
