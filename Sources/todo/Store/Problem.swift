/// The reason why a command failed, in words for its user.
struct Problem: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) {
    self.description = description
  }
}
