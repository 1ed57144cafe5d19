import CDModel
import CDSchema
import Foundation  // NSRegularExpression, which the runtime also uses to match patterns.

extension VersionImporter {
  mutating func attribute(
    _ element: MarkupElement, name: String, subject: String, owner: String
  ) -> AttributeDescription {
    var result = AttributeDescription(name: name, type: .data)
    result.isOptional = element.flag("optional")
    result.isTransient = element.flag("transient")
    result.hashModifier = element["versionHashModifier"].flatMap { $0.isEmpty ? nil : $0 }
    result.type = type(of: element, name: name, subject: subject, owner: owner)
    readDerivation(element, into: &result, subject)
    if element.flag("allowsExternalBinaryDataStorage") {
      switch result.type {
      case .data where !result.isTransient, .codable where !result.isTransient: result.storesExternally = true
      default:
        remark(subject, "only stored data can be external; Xcode's mark is kept under 'info'", at: element)
      }
    }
    readBounds(element, into: &result, subject)
    readPattern(element, into: &result, subject)
    if result.derivation == nil { readDefault(element, into: &result, subject) }
    if options.scalars == .default { makeMandatory(&result, element) }
    return result
  }

  // MARK: Types

  private mutating func type(
    of element: MarkupElement, name: String, subject: String, owner: String
  ) -> AttributeType {
    let typeName = element["attributeType"] ?? ""
    if let type = AttributeTypeNames.type(typeName) { return type }
    switch typeName {
    case "Transformable":
      if let type = codables["\(owner).\(name)"] {
        remark(
          subject,
          "Core Data archives it; here it is a codable \(type), kept as JSON, so that values of old stores are converted",
          at: element)
        return .codable(type: type, codec: 1)
      }
      let transformer = element["valueTransformerName"].map { $0.isEmpty ? "" : " by '\($0)'" } ?? ""
      remark(
        subject,
        "it is transformable\(transformer); in cdgen it is the Data that the transformer created. A type of your own can be "
          + "'codable'",
        at: element)
      return .data
    case "Composite":
      let known = element.attributes.first { $0.name != "name" && names.composites[$0.value] != nil }
      if let composite = known.flatMap({ names.composites[$0.value] }), owner != "",
        version.composites.contains(where: { $0.name == composite })
      {
        return .composite(composite)
      }
      remark(
        subject, "cdgen allows no composite here; it is kept as Data, and its type under 'info'", at: element)
      return .data
    case "", "Undefined":
      remark(
        subject, "it has no type in Xcode, so it becomes Data; give it the type with which your code uses it",
        at: element
      )
      return .data
    default:
      remark(
        subject, "its type '\(typeName)' is not known; it is kept as Data, its type under 'info'", at: element
      )
      return .data
    }
  }

  mutating func readComposites() {
    for element in root.children("composite") {
      let fields = element.children("attribute")
      guard let original = element["name"], let name = names.composites[original], !fields.isEmpty,
        !version.composites.contains(where: { $0.name == name })
      else {
        remark("a composite", "it has no name of its own, or no fields; it is kept under 'info'", at: element)
        keep(element, of: .model)
        continue
      }
      let place = version.composites.count
      version.composites.append(CompositeDescription(name: name, fields: []))
      origins[.composite(place)] = element
      if name != original {
        remark(
          "composite '\(name)'",
          "'\(original)' cannot be the name of a type in cdgen, so it is called '\(name)'", at: element)
      }
      let fieldNames = NameTable.distinct(fields.map { $0["name"] ?? "" })
      var swiftNames = Set(fieldNames.values)
      var taken: Set<String> = []
      for field in fields {
        let original = field["name"] ?? ""
        let fieldName = fieldNames[original] ?? original
        let subject = "field '\(fieldName)' of '\(name)'"
        guard taken.insert(original).inserted else {
          remark(
            subject,
            "another field of the composite has the name already; it is kept under 'info' of the version",
            at: field)
          keep(field, of: .composite(place))
          continue
        }
        if fieldName != original {
          remark(
            subject, "'\(original)' cannot be a name in cdgen, so it is called '\(fieldName)'", at: field)
        }
        var attribute = attribute(field, name: fieldName, subject: subject, owner: "")
        // A field cannot have these. The comparison of the export with the original file finds them and stores them
        // under `info`.
        attribute.isTransient = false
        attribute.derivation = nil
        attribute.storesExternally = false
        attribute.hashModifier = nil
        if !NameRules.isFieldName(fieldName) {
          var new = SwiftNameTable.name(fieldName, of: name)
          while !NameRules.isFieldName(new) || !swiftNames.insert(new).inserted { new += "_" }
          attribute.propertyName = new
          remark(
            subject,
            "'\(fieldName)' is taken in every generated type, so that it is '\(attribute.swiftName)' in Swift",
            at: field)
        }
        let origin = ElementIndex.field(place, version.composites[place].fields.count)
        origins[origin] = field
        version.composites[place].fields.append(attribute)
        for child in field.children("userInfo") { keep(child, of: origin) }
      }
    }
  }

  private mutating func readDerivation(
    _ element: MarkupElement, into result: inout AttributeDescription, _ subject: String
  ) {
    guard element.flag("derived") || element["derivationExpression"] != nil else { return }
    guard let text = element["derivationExpression"], let expression = try? ValueExpression(format: text)
    else {
      remark(
        subject, "its derivation cannot be read; it becomes a plain attribute, and the text is kept",
        at: element)
      return
    }
    result.derivation = expression
  }

  private mutating func readPattern(
    _ element: MarkupElement, into result: inout AttributeDescription, _ subject: String
  ) {
    guard let pattern = element["regularExpressionString"], !pattern.isEmpty else { return }
    guard result.type == .string, (try? NSRegularExpression(pattern: "\\A(?:\(pattern))\\z")) != nil else {
      remark(
        subject, "'\(pattern)' is not a regular expression for a String; it is kept under 'info'", at: element
      )
      return
    }
    result.pattern = pattern
  }

  // MARK: Values

  private mutating func readBounds(
    _ element: MarkupElement, into result: inout AttributeDescription, _ subject: String
  ) {
    let isDate = result.type == .date
    let lower = element[isDate ? "minDateTimeInterval" : "minValueString"]
    let upper = element[isDate ? "maxDateTimeInterval" : "maxValueString"]
    func report(_ text: String) {
      let isTooLong = result.type == .decimal && DefaultText.hasTooManyDigits(text)
      let problem = isTooLong ? "has more than 38 digits" : "says nothing for its type"
      remark(subject, "the bound '\(text)' \(problem); it is kept under 'info'", at: element)
    }
    switch result.type {
    case .string:
      func length(_ text: String?) -> Int? {
        guard let text else { return nil }
        if let length = Int(text), length >= 0 { return length }
        report(text)
        return nil
      }
      result.minimumLength = length(lower)
      result.maximumLength = length(upper)
      if let least = result.minimumLength, let most = result.maximumLength, least > most {
        remark(subject, "the least length is above the greatest; both are kept under 'info'", at: element)
        (result.minimumLength, result.maximumLength) = (nil, nil)
      }
    case let type where type.isOrdered:
      func bound(_ text: String?) -> AttributeValue? {
        guard let text else { return nil }
        if let value = DefaultText.value(text, of: result.type)?.value { return value }
        report(text)
        return nil
      }
      result.minimum = bound(lower)
      result.maximum = bound(upper)
      if let least = result.minimum, let most = result.maximum, AttributeOrder.isLess(most, least) {
        remark(subject, "the minimum is above the maximum; both are kept under 'info'", at: element)
        (result.minimum, result.maximum) = (nil, nil)
      }
    default:
      for text in [lower, upper].compactMap({ $0 }) { report(text) }
    }
  }

  private mutating func readDefault(
    _ element: MarkupElement, into result: inout AttributeDescription, _ subject: String
  ) {
    let name =
      result.type == .date && element["defaultDateTimeInterval"] != nil
      ? "defaultDateTimeInterval" : "defaultValueString"
    guard let text = element[name] else { return }
    guard let read = DefaultText.value(text, of: result.type) else {
      remark(subject, "its default '\(text)' is no \(result.type.schemaName); it is left out", at: element)
      return
    }
    if let problem = DefaultText.problem(with: read.value, for: result) {
      remark(
        subject, "its default '\(text)' \(problem), so that it could not be saved; it is left out",
        at: element)
      return
    }
    if read.isOdd {
      remark(
        subject, "its default '\(text)' is taken for \(ValueText.text(of: read.value, result.type) ?? "")",
        at: element)
    }
    result.defaultValue = .value(read.value)
  }

  /// Makes a number or Boolean mandatory, as classes with plain values show it: nil becomes 0 or false.
  private func makeMandatory(_ result: inout AttributeDescription, _ element: MarkupElement) {
    guard result.isOptional, result.derivation == nil, element.flag("usesScalarValueType") else { return }
    guard let traits = result.type.traits, traits.xcodeUsesScalar == true else { return }
    if result.defaultValue == nil {
      guard DefaultText.problem(with: traits.empty, for: result) == nil else { return }
      result.defaultValue = .value(traits.empty)
    }
    result.isOptional = false
  }
}
