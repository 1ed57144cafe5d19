public import CDModel
import CDSchema
import CDXcodeNames

/// Writes a model as an Xcode model.
public struct XcodeExporter: Sendable {
  /// The model.
  public var model: ManagedObjectModel

  /// Creates an exporter for a model.
  public init(_ model: ManagedObjectModel) { self.model = model }

  /// The files of the bundle by their paths in it.
  public var files: [String: String] {
    var result: [String: String] = [:]
    var identifiers: [Int: RenamingIdentifiers] = [:]
    let names = self.names
    let model = self.model.withoutFormerXcodeNames()
    for version in model.versions {
      let base = version.basedOn.first.flatMap { model.version($0) }
      var own = RenamingIdentifiers(
        version, base: base, identifiers: base.flatMap { identifiers[$0.number] } ?? RenamingIdentifiers())
      own.apply(infoOf: version)
      identifiers[version.number] = own
      let root = Self.root(of: VersionExporter(version, identifiers: own), modelName: model.name)
      result["\(names[version.number] ?? "").xcdatamodel/contents"] = MarkupText.document(root)
    }
    result[".xccurrentversion"] = CurrentVersionFile.text(name: names[model.currentVersionNumber] ?? "")
    return result
  }

  /// The root element of a version's document, without information under `info` that is out of date.
  private static func root(of exporter: VersionExporter, modelName: String) -> MarkupElement {
    let outdated = OutdatedInfo(exporter.version, modelName: modelName).names(in: exporter)
    return exporter.root(without: outdated)
  }

  /// The versions' names by number. A version's label is its name if it is a valid folder name and not already used.
  /// Otherwise the name is the model's name with the number.
  private var names: [Int: String] {
    var result: [Int: String] = [:]
    var taken: Set<String> = []
    for version in model.versions {
      var name = version.label ?? (version.number == 1 ? model.name : "\(model.name) \(version.number)")
      if name.isEmpty || name.hasPrefix(".") || name.contains("/") || taken.contains(name.lowercased()) {
        name = "\(model.name) \(version.number)"
      }
      while !taken.insert(name.lowercased()).inserted { name += " copy" }
      result[version.number] = name
    }
    return result
  }

  /// What is left out, one line each: parts of the current version that Xcode's format cannot express, information under
  /// `info` that is out of date, and the rules of migrations.
  public var losses: [String] {
    var result: [String] = []
    if let version = model.currentVersion {
      if !version.enums.isEmpty { result.append("enums are written as their raw types") }
      for composite in version.composites {
        for field in composite.fields {
          result += losses(of: field, "field '\(field.name)' of '\(composite.name)'")
        }
      }
      for entity in version.entities {
        for attribute in entity.attributes {
          result += losses(of: attribute, "attribute '\(attribute.name)' of '\(entity.name)'")
        }
        for template in entity.fetchTemplates where !template.sort.isEmpty {
          result.append("fetch '\(template.name)' of '\(entity.name)': its order is left out")
        }
        for property in entity.fetchedProperties where !property.sort.isEmpty {
          result.append("fetched property '\(property.name)' of '\(entity.name)': its order is left out")
        }
      }
      let current = model.withoutFormerXcodeNames().currentVersion ?? version
      let exporter = VersionExporter(current, identifiers: RenamingIdentifiers())
      result += OutdatedInfo(current, modelName: model.name).messages(in: exporter, declared: version)
    }
    for rules in model.mappings where !Self.onlyConfirms(rules) {
      let name = MappingFile.name(from: rules.source, to: rules.destination)
      result.append("the rules of \(name) are left out; Xcode needs a mapping model for them")
    }
    return result
  }

  private func losses(of attribute: AttributeDescription, _ subject: String) -> [String] {
    var result: [String] = []
    switch attribute.defaultValue {
    case .now: result.append("\(subject): a default of now() is left out")
    case .uuid: result.append("\(subject): a default of uuid() is left out")
    case .value(let value):
      if value != .null, ValueText.text(of: value, attribute.type) == nil {
        result.append("\(subject): its default is left out")
      }
    case nil: break
    }
    if case .codable(let type, let codec) = attribute.type, codec != 1 {
      result.append("\(subject): the codec \(codec) of '\(type)' is left out")
    }
    return result
  }

  /// Whether rules only confirm losses, which Core Data accepts without any rule.
  private static func onlyConfirms(_ rules: MappingRules) -> Bool {
    rules.duplicates.isEmpty
      && rules.entities.allSatisfy { $0 == EntityRule(destination: $0.destination, drops: $0.drops) }
  }
}
