/// Why a command cannot do what it was asked for, in words for the person who asked.
struct Problem: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
