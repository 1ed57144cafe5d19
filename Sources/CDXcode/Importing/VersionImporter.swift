import CDModel
import CDSchema

/// Creates a version from a version of an Xcode model.
///
/// Elements that the schema language can express are translated. Everything else is stored under `info`, with a remark
/// if it has an effect outside Xcode.
struct VersionImporter {
  let root: MarkupElement
  let names: NameTable
  let options: XcodeImportOptions
  let modelName: String
  /// The Swift types of transformable attributes that become codable attributes, by `Entity.attribute`.
  let codables: [String: String]

  var version: ModelVersion
  /// The XML elements from which the version's elements were read.
  var origins: [ElementIndex: MarkupElement] = [:]
  var remarks: [ImportRemark] = []

  init(
    _ root: MarkupElement, number: Int, modelName: String, codables: [String: String],
    options: XcodeImportOptions
  ) {
    self.root = root
    self.options = options
    self.modelName = modelName
    self.codables = codables
    names = NameTable(root, modelName: modelName)
    version = ModelVersion(number: number)
    origins[.model] = root
  }

  /// Reads everything except renames, which need the version before.
  mutating func read() {
    readComposites()
    var taken: Set<String> = []
    for element in root.children("entity") { readEntity(element, &taken) }
    checkParents()
    checkClasses()
    nameProperties()
    checkInverses()
    let graph = EntityGraph(version)
    for place in version.entities.indices { readKeys(of: place, graph) }
    storeNames()
    checkDerivations()
    readFetches()
    readConfigurations()
    keepUnknownChildren()
  }

  mutating func remark(_ subject: String, _ message: String, at element: MarkupElement) {
    remarks.append(
      ImportRemark(subject: subject, message: message, line: element.line, column: element.column))
  }

  /// Stores an XML element that the schema language cannot express, unchanged.
  mutating func keep(_ element: MarkupElement, of key: ElementIndex) {
    version.setInfo(of: key, "element.\(freeNumber(of: key))", MarkupText.line(element))
  }

  /// The number of the next XML element that is kept. The numbers are consecutive, so the first free one is searched in halves.
  private func freeNumber(of key: ElementIndex) -> Int {
    let (info, prefix) = version.info(of: key)
    var (low, high) = (1, info.count + 1)
    while low < high {
      let middle = (low + high) / 2
      if info["\(prefix)element.\(middle)"] != nil { low = middle + 1 } else { high = middle }
    }
    return low
  }

  // MARK: Entities

  private mutating func readEntity(_ element: MarkupElement, _ taken: inout Set<String>) {
    guard let original = element["name"], taken.insert(names.entity(original)).inserted else {
      remark(
        "an entity",
        "it has no name of its own and is left out; its element is kept under 'info' of the version",
        at: element)
      return keep(element, of: .model)
    }
    let place = version.entities.count
    var entity = EntityDescription(name: names.entity(original))
    let subject = "entity '\(entity.name)'"
    if entity.name != original {
      remark(
        subject, "'\(original)' cannot be a name in cdgen, so it is called '\(entity.name)'", at: element)
    }
    entity.isAbstract = element.flag("isAbstract")
    entity.hashModifier = element["versionHashModifier"].flatMap { $0.isEmpty ? nil : $0 }
    entity.parent = element["parentEntity"].map(names.entity)
    entity.className = className(element["representedClassName"], entity: entity.name)
    version.entities.append(entity)
    origins[.entity(place)] = element
    var taken: Set<String> = []
    for child in element.children {
      switch child.name {
      case "attribute", "relationship", "fetchedProperty":
        guard let name = child["name"], !name.isEmpty else {
          let noun = child.name == "attribute" ? "an attribute" : "a \(Self.noun(of: child))"
          remark(subject, "\(noun) has no name; its element is kept under 'info'", at: child)
          keep(child, of: .entity(place))
          continue
        }
        guard taken.insert(names.property(name, of: original)).inserted else {
          remark(
            "\(Self.noun(of: child)) '\(name)' of '\(entity.name)'",
            "another property of the entity has the name already; this one's element is kept under 'info' of the "
              + "entity", at: child)
          keep(child, of: .entity(place))
          continue
        }
        readProperty(child, name: names.property(name, of: original), original: name, in: place)
      case "userInfo": readUserInfo(child, of: .entity(place))
      default: break
      }
    }
  }

  private mutating func readProperty(_ element: MarkupElement, name: String, original: String, in place: Int)
  {
    let owner = version.entities[place].name
    let subject = "\(Self.noun(of: element)) '\(name)' of '\(owner)'"
    if name != original {
      remark(subject, "'\(original)' cannot be a name in cdgen, so it is called '\(name)'", at: element)
    }
    switch element.name {
    case "attribute":
      let attribute = attribute(element, name: name, subject: subject, owner: owner)
      let key = ElementIndex.attribute(place, version.entities[place].attributes.count)
      version.entities[place].attributes.append(attribute)
      origins[key] = element
      for child in element.children("userInfo") { readUserInfo(child, of: key) }
    case "relationship":
      guard let relationship = relationship(element, name: name) else {
        remark(
          subject, "it leads to no entity of the model; its element is kept under 'info' of the entity",
          at: element)
        return keep(element, of: .entity(place))
      }
      for (name, count) in [("minCount", relationship.minimumCount), ("maxCount", relationship.maximumCount)]
      {
        // 0 means that there is no limit.
        guard relationship.isToMany, count == nil, let text = element[name], text != "0" else { continue }
        remark(
          subject, "'\(name)' of '\(text)' is not a count that can be met; it is kept under 'info'",
          at: element)
      }
      let key = ElementIndex.relationship(place, version.entities[place].relationships.count)
      version.entities[place].relationships.append(relationship)
      origins[key] = element
      for child in element.children("userInfo") { readUserInfo(child, of: key) }
      if element.flag("transient") {
        remark(
          subject, "it is transient in Xcode, and stored in cdgen, whose relationships are never transient",
          at: element
        )
      }
    default:
      guard let request = element.children("fetchRequest").first,
        let entity = request["entity"].flatMap({ names.entities[$0] })
      else {
        remark(
          subject, "it fetches no entity of the model; its element is kept under 'info' of the entity",
          at: element)
        return keep(element, of: .entity(place))
      }
      var property = FetchedPropertyDescription(name: name, entity: entity)
      property.limit = limit(request)
      let number = version.entities[place].fetchedProperties.count
      version.entities[place].fetchedProperties.append(property)
      origins[.fetched(place, number)] = element
      origins[.fetchedRequest(place, number)] = request
      for child in element.children("userInfo") { readUserInfo(child, of: .fetched(place, number)) }
    }
  }

  private static func noun(of property: MarkupElement) -> String {
    property.name == "fetchedProperty" ? "fetched property" : property.name
  }

  /// The class name without its module. Nil if it is the entity's name or Core Data's own class.
  private func className(_ text: String?, entity: String) -> String? {
    guard let text, let name = text.split(separator: ".").last.map(String.init), name != "NSManagedObject",
      name != entity, NameRules.isIdentifier(name)
    else { return nil }
    return name
  }

  /// Reads free keys and texts of the model's author.
  private mutating func readUserInfo(_ element: MarkupElement, of key: ElementIndex) {
    var others = MarkupElement("userInfo")
    for entry in element.children {
      guard entry.name == "entry", let name = entry["key"], let value = entry["value"],
        !name.hasPrefix(XcodeInfo.prefix), !name.isEmpty, version.info(of: key).info[name] == nil
      else {
        others.children.append(entry)
        continue
      }
      switch key {
      case .entity(let place): version.entities[place].info[name] = value
      case .attribute(let entity, let place): version.entities[entity].attributes[place].info[name] = value
      case .relationship(let entity, let place):
        version.entities[entity].relationships[place].info[name] = value
      case .fetched(let entity, let place):
        version.entities[entity].fetchedProperties[place].info[name] = value
      default: others.children.append(entry)
      }
    }
    if !others.children.isEmpty { keep(others, of: key) }
  }

  func limit(_ request: MarkupElement) -> Int? {
    request["fetchLimit"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
  }

  // MARK: Unknown elements

  private static let known: [String: Set<String>] = [
    "model": ["entity", "configuration", "fetchRequest", "composite", "elements"],
    "entity": [
      "attribute", "relationship", "fetchedProperty", "fetchIndex", "compoundIndexes",
      "uniquenessConstraints",
      "userInfo",
    ],
    "attribute": ["userInfo"], "relationship": ["userInfo"], "fetchedProperty": ["fetchRequest", "userInfo"],
    "configuration": ["memberEntity"], "composite": ["attribute"],
  ]

  private mutating func keepUnknownChildren() {
    for (key, element) in origins {
      let known = Self.known[element.name] ?? []
      for child in element.children where !known.contains(child.name) {
        remark("element '\(child.name)'", "cdgen does not know it; it is kept under 'info'", at: child)
        keep(child, of: key)
      }
      if element.name == "fetchedProperty" {
        for child in element.children("fetchRequest").dropFirst() { keep(child, of: key) }
      }
    }
  }
}
