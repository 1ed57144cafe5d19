import CDRuntime

/// A mistake in a field, in words for people.
struct FieldError: Error, Sendable {
  var text: String
  /// The name of the property, which is the name of the field.
  var field: String?

  init(_ text: String, field: String?) {
    self.text = text
    self.field = field
  }

  init(_ error: ValidationError) { self.init(error.sentence, field: error.property) }

  static let missingDate = FieldError("Enter a date and a time.", field: Field.dueDate.rawValue)

  /// The mistakes, which the script moves to their fields.
  static func list(_ errors: [FieldError]) -> HTML {
    HTML(errors.map { #"<p class="error" role="alert" data-field="\#($0.field ?? "")">\#($0.text)</p>"# })
  }
}

extension FieldError: CustomStringConvertible {
  var description: String { text }
}

extension Message {
  var html: HTML {
    guard isError else { return #"<p role="status">\#(text)</p>"# }
    return #"<p class="error" role="alert"\#("data-refused", if: isRefusal)>\#(text)</p>"#
  }
}
