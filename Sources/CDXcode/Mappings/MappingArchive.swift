import CDMapping

/// The contents of an Xcode mapping model, entity by entity.
struct MappingArchive {
  struct EntityMapping {
    /// The name. By default it is made from the names of both entities.
    var name: String
    var source: String?
    var destination: String?
    var policy: String?
    var filter: String?
    var attributes: [PropertyMapping] = []
    var relationships: [PropertyMapping] = []
    var line = 0
    var column = 0
  }

  struct PropertyMapping {
    var name: String
    /// The text of the value's expression; nil if there is none.
    var value: String?
    /// Whether there is an expression that cannot be read.
    var isUnreadable = false
    /// For a relationship: the mapping that creates the related objects, and the path to their source objects.
    var mappingName: String?
    var keyPath: String?
    var isAutomatic = false
  }

  /// The names of the versions, without extensions.
  var sourceVersion = ""
  var destinationVersion = ""
  /// The name of the bundle that contains the versions; nil if the file does not name it.
  var bundleName: String?
  var entities: [EntityMapping] = []

  /// Reads an `xcmapping.xml`. Nil if it contains no mapping model.
  init?(_ root: MarkupElement) {
    var objects: [String: MarkupElement] = [:]
    for object in root.children("object") {
      if let id = object["id"] { objects[id] = object }
    }
    func value(_ name: String, of object: MarkupElement) -> String? {
      object.children.first { $0.name == "attribute" && $0["name"] == name }?.text
    }
    func related(_ name: String, of object: MarkupElement) -> [MarkupElement] {
      let list = object.children.first { $0.name == "relationship" && $0["name"] == name }?["idrefs"] ?? ""
      // An object that the list names again is the same object, so that it counts only once.
      var taken: Set<Substring> = []
      return list.split(separator: " ").compactMap { taken.insert($0).inserted ? objects[String($0)] : nil }
    }
    guard let model = root.children("object").first(where: { $0["type"] == "XDDEVMAPPINGMODEL" }) else {
      return nil
    }
    sourceVersion = Self.versionName(value("sourcemodelpath", of: model) ?? "")
    destinationVersion = Self.versionName(value("destinationmodelpath", of: model) ?? "")
    bundleName =
      ["sourcemodelpath", "destinationmodelpath"].lazy.compactMap {
        Self.bundleName(value($0, of: model) ?? "")
      }.first
    let mappings = related("entitymappings", of: model).sorted {
      (Int(value("mappingnumber", of: $0) ?? "") ?? 0) < (Int(value("mappingnumber", of: $1) ?? "") ?? 0)
    }
    for object in mappings {
      func text(_ name: String) -> String? {
        value(name, of: object).flatMap { $0.isEmpty ? nil : $0 }
      }
      let source = text("sourcename")
      let destination = text("destinationname")
      var mapping = EntityMapping(
        name: text("name") ?? "\(source ?? "")To\(destination ?? "")", source: source,
        destination: destination)
      mapping.policy = text("migrationpolicyclassname")
      mapping.filter = text("sourcefilterpredicatestring")
      (mapping.line, mapping.column) = (object.line, object.column)
      func property(_ object: MarkupElement) -> PropertyMapping {
        let archive = value("valueexpressiondata", of: object)
        let expression = archive.flatMap { ArchivedExpression.text(base64: $0) }
        return PropertyMapping(
          name: value("name", of: object) ?? "", value: expression,
          isUnreadable: archive != nil && expression == nil,
          mappingName: value("sourcemappingname", of: object), keyPath: value("sourcekeypath", of: object),
          isAutomatic: value("autogenerateexpression", of: object) == "1")
      }
      // The file stores them in no fixed order.
      mapping.attributes = related("attributemappings", of: object).map(property).sorted { $0.name < $1.name }
      mapping.relationships = related("relationshipmappings", of: object).map(property).sorted {
        $0.name < $1.name
      }
      entities.append(mapping)
    }
  }

  private static func bundleName(_ path: String) -> String? {
    let end = ".xcdatamodeld"
    return path.split(separator: "/").last { $0.hasSuffix(end) }.map { String($0.dropLast(end.count)) }
  }

  private static func versionName(_ path: String) -> String {
    let last = path.split(separator: "/").last.map(String.init) ?? path
    return last.hasSuffix(".xcdatamodel") ? String(last.dropLast(".xcdatamodel".count)) : last
  }
}
