import CDMapping
import CDModel
import SampleModels
import Testing

@Suite("Steps between versions")
struct MigrationStepTests {
  @Test func `Nothing differs between a version and itself`() throws {
    let version = try SampleModel.version()
    let step = MigrationStep(from: version, to: version)
    #expect(step.changes == [])
    #expect(step.problems == [])
    #expect(step.isProven && step.isLossless && step.changesNoData)
    #expect(step.mapping.entityMappings.allSatisfy { $0.kind == .copy })
  }

  /// What was inferred says the same as rules, and the rules are found right.
  @Test(arguments: HashChange.all)
  func `A mapping model is checked as rules are`(change: HashChange) throws {
    let before = try SampleModel.version()
    var after = before
    try change.make(&after)
    for (from, to) in [(before, after), (after, before)] {
      let step = MigrationStep(from: from, to: to)
      guard step.isProven else { continue }
      let again = MigrationStep(from: from, to: to, rules: MappingRules(step.mapping))
      #expect(again.problems == [])
      #expect(again.isProven)
      #expect(again.mapping.entityMappings.map(\.attributes) == step.mapping.entityMappings.map(\.attributes))
      #expect(again.mapping.entityMappings.map(\.name) == step.mapping.entityMappings.map(\.name))
    }
  }

  /// What is stored alike needs no rows to be touched, and only that.
  @Test(arguments: HashChange.all)
  func `Rows are copied where no data changes`(change: HashChange) throws {
    let before = try SampleModel.version()
    var after = before
    try change.make(&after)
    let step = MigrationStep(from: before, to: after)
    if !change.alters.contains(.data) { #expect(step.changesNoData) }
    for mapping in step.mapping.entityMappings where mapping.kind == .copy {
      #expect(mapping.source == mapping.destination)
    }
  }

  @Test(arguments: 0..<40)
  func `Any two versions can be compared`(seed: UInt64) throws {
    var models = RandomModels(seed: seed)
    let (first, second) = (try models.version(), try models.version())
    let step = MigrationStep(from: first, to: second)
    #expect(step.openChanges.allSatisfy { !$0.description.isEmpty })
    #expect(!step.planText(mapping: "m").isEmpty)
    let again = MigrationStep(from: first, to: second, rules: MappingRules(step.mapping))
    #expect(again.mapping.entityMappings.count >= step.mapping.entityMappings.count)
  }

  // MARK: Uniqueness

  /// Entities whose text and numbers are unique.
  private func uniqueItems(
    _ number: Int, _ type: AttributeType, at date: AttributeType
  ) throws -> ModelVersion {
    let attributes = [
      AttributeDescription(name: "name", type: .string),
      AttributeDescription(name: "number", type: type),
      AttributeDescription(name: "at", type: date),
      AttributeDescription(
        name: "label", type: .string, isOptional: true, derivation: try ValueExpression(format: "key")),
      AttributeDescription(
        name: "key", type: .string, isOptional: true,
        derivation: try ValueExpression(format: "lowercase:(name)")),
    ]
    return ModelVersion(
      number: number, basedOn: number > 1 ? [number - 1] : [],
      entities: [
        EntityDescription(
          name: "Item", attributes: attributes, uniquenessConstraints: [["label"], ["number"], ["at"]])
      ])
  }

  @Test func `Unique lists stay proven if their values stay different`() throws {
    let old = try uniqueItems(1, .int32, at: .date)
    let wider = try uniqueItems(2, .int64, at: .date)
    #expect(MigrationStep(from: old, to: wider).openChanges.isEmpty)
    let exact = try uniqueItems(2, .decimal, at: .date)
    #expect(MigrationStep(from: old, to: exact).openChanges.isEmpty)
  }

  @Test func `Unique lists are not proven if different values may become equal`() throws {
    let old = try uniqueItems(1, .int64, at: .date)
    // The text of a date has only milliseconds.
    let texts = MigrationStep(from: old, to: try uniqueItems(2, .int64, at: .string))
    let open = texts.openChanges.map(\.kind)
    #expect(open.contains(.uniqueConstraintAdded(entity: "Item", properties: ["at"])))
    let rule = EntityRule(
      destination: "Item",
      attributes: [PropertyMapping(name: "name", value: try ValueExpression(format: "'a'"))])
    let derived = MigrationStep(
      from: old, to: try uniqueItems(2, .int64, at: .date),
      rules: MappingRules(source: 1, destination: 2, entities: [rule]))
    #expect(
      derived.openChanges.map(\.kind) == [.uniqueConstraintAdded(entity: "Item", properties: ["label"])])
  }

  // Each invoice stores its order. Another order keeps the invoice that stays, but not if the rule compares orders.
  @Test(arguments: [
    (["number"], false, false), (["number"], true, true), (["number", "order"], false, true),
  ])
  func `A rule for duplicates deletes no mandatory object that stores the reference`(
    _ properties: [String], _ isOptional: Bool, _ isRight: Bool
  ) {
    func version(_ number: Int) -> ModelVersion {
      ModelVersion(
        number: number, basedOn: number > 1 ? [number - 1] : [],
        entities: [
          EntityDescription(
            name: "Invoice", attributes: [AttributeDescription(name: "number", type: .string)],
            relationships: [
              RelationshipDescription(
                name: "order", destination: "Order", isOptional: false, inverse: "invoice")
            ], uniquenessConstraints: number > 1 ? [properties] : []),
          EntityDescription(
            name: "Order",
            relationships: [
              RelationshipDescription(
                name: "invoice", destination: "Invoice", isOptional: isOptional, inverse: "order")
            ]),
        ])
    }
    let rule = DuplicateRule(entity: "Invoice", properties: properties, survivor: .keepFirst)
    let step = MigrationStep(
      from: version(1), to: version(2),
      rules: MappingRules(source: 1, destination: 2, duplicates: [rule]))
    #expect(step.problems.map(\.location) == (isRight ? [] : [.duplicate(0)]), "\(step.problems)")
    #expect(step.isProven == isRight, "\(step.openChanges)")
  }

  // MARK: Composites

  /// Maps notes to notes with an optional address, whose fields have a default, may be nil, and neither.
  ///
  /// - Parameter rules: Expressions for the fields, by their paths.
  private func stepToAddress(_ rules: [String: String], where filter: String? = nil) throws -> MigrationStep {
    func version(_ number: Int, _ attributes: [AttributeDescription]) -> ModelVersion {
      ModelVersion(
        number: number, basedOn: number > 1 ? [number - 1] : [],
        composites: [
          CompositeDescription(
            name: "Address",
            fields: [
              AttributeDescription(name: "street", type: .string),
              AttributeDescription(name: "city", type: .string, isOptional: true),
              AttributeDescription(name: "zip", type: .string, defaultValue: .value(.string("0000"))),
            ])
        ], entities: [EntityDescription(name: "Note", attributes: attributes)])
    }
    let text = AttributeDescription(name: "text", type: .string, isOptional: true)
    let home = AttributeDescription(name: "home", type: .composite("Address"), isOptional: true)
    let attributes = try rules.sorted { $0.key < $1.key }.map { name, value in
      PropertyMapping(name: name, value: try ValueExpression(format: value))
    }
    return MigrationStep(
      from: version(1, [text]), to: version(2, [text, home]),
      rules: MappingRules(
        source: 1, destination: 2,
        entities: attributes.isEmpty
          ? []
          : [
            EntityRule(
              destination: "Note", filter: try filter.map { try FetchPredicate(format: $0) },
              attributes: attributes)
          ]))
  }

  private func value(_ path: String, in step: MigrationStep) -> ValueExpression? {
    step.mapping.entityMappings.first?.attributes.first { $0.name == path }?.value
  }

  @Test func `A new optional composite is nil, whatever defaults its fields have`() throws {
    let step = try stepToAddress([:])
    #expect(step.isProven)
    for field in ["street", "city", "zip"] { #expect(value("home.\(field)", in: step) == .null) }
  }

  @Test func `A field's default is for the objects that get the composite by rules`() throws {
    let step = try stepToAddress(["home.street": "text"])
    #expect(step.isProven)
    let present = FetchPredicate(.keyPath(["text"]), .notEqualTo, .null)
    let zip = ValueExpression.constant(.string("0000"))
    #expect(value("home.zip", in: step) == .ternary(present, zip, .null))
    #expect(value("home.city", in: step) == .null)
    let always = try stepToAddress(["home.street": "'-'"])
    #expect(value("home.zip", in: always) == zip)
  }

  @Test func `A composite that rules make needs all its mandatory fields`() throws {
    let step = try stepToAddress(["home.city": "text"])
    #expect(step.openChanges.count == 1)
    #expect(!step.isProven)
  }

  /// An object has all mandatory fields of a composite, or none of its fields.
  @Test(arguments: [
    (["home.street": "text", "home.city": "'-'"], false),
    (["home.street": "text", "home.zip": "'-'"], false),
    (["home.street": "TERNARY(text != '', text, nil)", "home.city": "TERNARY(text != '', '-', nil)"], false),
    (["home.street": "text", "home.city": "text"], true),
    (["home.street": "text", "home.city": "TERNARY(text != nil, '-', nil)"], true),
    (["home.street": "text ?? ''", "home.city": "text"], true),
    (["home.street": "TERNARY(text != '', text, nil)"], true),
    (
      ["home.street": "TERNARY(text != '', text ?? '', nil)", "home.city": "TERNARY(text != '', '-', nil)"],
      true
    ),
  ])
  func `A rule for a mandatory field gives nil only with the other fields`(
    _ rules: [String: String], _ isRight: Bool
  ) throws {
    let step = try stepToAddress(rules)
    #expect(step.problems.map(\.severity) == (isRight ? [] : [.error]), "\(step.problems)")
    #expect(step.isProven == isRight)
  }

  /// The fields of a composite that is calculated from another one are all nil, or all not.
  @Test(arguments: [
    ["area.w": "size.width * 2.54", "area.h": "size.height * 2.54"],
    [
      "area.w": "TERNARY(size.width != nil, size.width * 2.54, nil)",
      "area.h": "TERNARY(size.height != nil, -size.height, nil)",
    ],
    ["area.w": "size.width + link.size.width", "area.h": "size.height * link.size.width"],
    ["size.width": "size.width * 1000"],
  ])
  func `A calculated composite is as present as the one that it is calculated from`(
    _ rules: [String: String]
  ) throws {
    func version(_ number: Int) -> ModelVersion {
      func composite(_ name: String, _ fields: [String]) -> CompositeDescription {
        CompositeDescription(name: name, fields: fields.map { AttributeDescription(name: $0, type: .double) })
      }
      let size = AttributeDescription(name: "size", type: .composite("Size"), isOptional: true)
      let area = AttributeDescription(name: "area", type: .composite("Area"), isOptional: true)
      return ModelVersion(
        number: number, basedOn: number > 1 ? [1] : [],
        composites: [composite("Size", ["width", "height"]), composite("Area", ["w", "h"])],
        entities: [
          EntityDescription(
            name: "Note", attributes: number > 1 ? [size, area] : [size],
            relationships: [RelationshipDescription(name: "link", destination: "Note", isOptional: false)])
        ])
    }
    let attributes = try rules.sorted { $0.key < $1.key }.map { name, value in
      PropertyMapping(name: name, value: try ValueExpression(format: value))
    }
    let step = MigrationStep(
      from: version(1), to: version(2),
      rules: MappingRules(
        source: 1, destination: 2, entities: [EntityRule(destination: "Note", attributes: attributes)]))
    #expect(step.problems.map(\.severity) == [], "\(step.problems)")
    #expect(step.isProven)
  }

  @Test func `A filter can exclude the objects without a value for a mandatory field`() throws {
    for (filter, isRight) in [
      ("text != nil", true), ("text != nil AND text != ''", true), ("text != ''", false),
    ] {
      let step = try stepToAddress(["home.street": "text", "home.city": "'-'"], where: filter)
      #expect(step.problems.map(\.severity) == (isRight ? [] : [.error]), "\(step.problems)")
    }
  }

  // MARK: Several versions

  @Test func `A step over several versions follows the renames of properties`() {
    func version(
      _ number: Int, _ attribute: String, from oldAttribute: String?, _ field: String, from oldField: String?
    ) -> ModelVersion {
      ModelVersion(
        number: number, basedOn: number > 1 ? [number - 1] : [],
        composites: [
          CompositeDescription(
            name: "Span",
            fields: [AttributeDescription(name: field, type: .int64, renamedFrom: oldField)])
        ],
        entities: [
          EntityDescription(
            name: "Note",
            attributes: [
              AttributeDescription(name: attribute, type: .string, renamedFrom: oldAttribute),
              AttributeDescription(name: "span", type: .composite("Span"), isOptional: true),
              AttributeDescription(name: "new\(number)", type: .string, isOptional: true),
            ])
        ])
    }
    let step = MigrationStep(line: [
      version(1, "a", from: nil, "x", from: nil), version(2, "b", from: "a", "y", from: "x"),
      version(3, "c", from: "b", "y", from: nil),
    ])
    #expect(step.propertyOrigins == ["NoteToNote": ["c": "a", "span.y": "span.x"]])
  }

  // MARK: Drafts

  private static func version(_ entities: [EntityDescription]) -> ModelVersion {
    ModelVersion(number: 2, basedOn: [1], entities: entities)
  }

  private static func person(_ name: String, renamedFrom: String?, _ attribute: AttributeDescription)
    -> EntityDescription
  {
    EntityDescription(name: name, renamedFrom: renamedFrom, attributes: [attribute])
  }

  @Test func `A draft from after a rename goes by its names`() {
    let attribute = AttributeDescription(name: "name", type: .string, renamedFrom: "title")
    let draft = Self.version([Self.person("Person", renamedFrom: "Contact", attribute)])
    var now = draft
    now.entities[0].attributes.append(AttributeDescription(name: "age", type: .int16, isOptional: true))
    let step = MigrationStep(fromDraft: draft, to: now)
    #expect(step.isLossless)
    #expect(step.mapping.entityMappings.map(\.source) == ["Person"])
  }

  @Test func `A draft from before a rename goes by renamedFrom`() {
    let old = AttributeDescription(name: "title", type: .string)
    let draft = Self.version([Self.person("Contact", renamedFrom: nil, old)])
    let new = AttributeDescription(name: "name", type: .string, renamedFrom: "title")
    let step = MigrationStep(
      fromDraft: draft, to: Self.version([Self.person("Person", renamedFrom: "Contact", new)]))
    #expect(step.isLossless)
    #expect(
      step.mapping.entityMappings[0].attributes == [PropertyMapping(name: "name", value: .keyPath("title"))])
  }

  // MARK: To-one inverses

  private static func version(
    _ number: Int, dog: [RelationshipDescription], person: [RelationshipDescription]
  ) -> ModelVersion {
    ModelVersion(
      number: number, basedOn: number > 1 ? [number - 1] : [],
      entities: [
        EntityDescription(name: "Dog", relationships: dog),
        EntityDescription(name: "Person", relationships: person),
      ])
  }

  private static func toOne(
    _ name: String, _ destination: String, _ inverse: String?
  ) -> RelationshipDescription {
    RelationshipDescription(name: name, destination: destination, inverse: inverse)
  }

  private static func toMany(
    _ name: String, _ destination: String, _ inverse: String?
  ) -> RelationshipDescription {
    RelationshipDescription(name: name, destination: destination, isToMany: true, inverse: inverse)
  }

  /// A dog that several persons have in the first version can have one owner in the second.
  private static let shared = version(1, dog: [], person: [toMany("dogs", "Dog", nil)])
  private static let owned = version(
    2, dog: [toOne("owner", "Person", "dogs")], person: [toMany("dogs", "Dog", "owner")])

  @Test func `A to-one inverse of shared objects is not inferred`() {
    let change = ModelChange.Kind.relationshipBecameToOne(
      PropertyName("Dog", "owner"), inverse: PropertyName("Person", "dogs"))
    #expect(MigrationStep(from: Self.shared, to: Self.owned).openChanges.map(\.kind) == [change])
    #expect(!MigrationStep(fromDraft: Self.shared, to: Self.owned).isLossless)
  }

  // Each account also becomes an archive. Accounts store the references, unless settings must have an account.
  @Test(arguments: [(true, false, false), (true, true, true), (false, false, true)])
  func `Copies of an object do not share the object of a one-to-one relationship`(
    _ isOptional: Bool, _ isEmptied: Bool, _ isRight: Bool
  ) {
    var account = Self.toOne("account", "Account", "settings")
    account.isOptional = isOptional
    let entities = [
      EntityDescription(
        name: "Account", relationships: [Self.toOne("settings", "Settings", "account")]),
      EntityDescription(name: "Settings", relationships: [account]),
    ]
    let archive = EntityDescription(name: "Archive", parent: "Account")
    let settings = PropertyMapping(name: "settings", value: .null)
    let rules = [
      EntityRule(destination: "Account", source: "Account"),
      EntityRule(
        destination: "Archive", source: "Account", relationships: isEmptied ? [settings] : []),
    ]
    let step = MigrationStep(
      from: ModelVersion(number: 1, entities: entities),
      to: ModelVersion(number: 2, basedOn: [1], entities: entities + [archive]),
      rules: MappingRules(source: 1, destination: 2, entities: rules))
    let shared = ModelChange.Kind.relationshipBecameToOne(
      PropertyName("Settings", "account"), inverse: PropertyName("Account", "settings"))
    #expect(step.openChanges.map(\.kind) == (isRight ? [] : [shared]))
    #expect(step.isProven == isRight, "\(step.problems)")
  }

  @Test(arguments: ["Dog", "Person"])
  func `The code of an app on either side gives shared objects a to-one inverse`(_ entity: String) {
    let rules = MappingRules(
      source: 1, destination: 2, entities: [EntityRule(destination: entity, isCustom: true)])
    let step = MigrationStep(from: Self.shared, to: Self.owned, rules: rules)
    #expect(step.isProven)
    #expect(step.changes.contains { $0.resolution == .custom })
  }

  @Test func `A rule for the other side does not make objects unshared`() throws {
    let old = Self.version(
      1, dog: [Self.toOne("owner", "Person", nil)], person: [Self.toMany("dogs", "Dog", nil)])
    let rule = EntityRule(
      destination: "Person",
      relationships: [PropertyMapping(name: "dogs", value: try ValueExpression(format: "dogs"))])
    let step = MigrationStep(
      from: old, to: Self.owned, rules: MappingRules(source: 1, destination: 2, entities: [rule]))
    #expect(
      step.openChanges.contains {
        $0.kind
          == .relationshipBecameToOne(
            PropertyName("Dog", "owner"), inverse: PropertyName("Person", "dogs"))
      })
  }

  @Test func `A rule that reads a relationship with a to-one inverse leads to no shared objects`() throws {
    let old = Self.version(
      1, dog: [Self.toOne("owner", "Person", "dogs")], person: [Self.toMany("dogs", "Dog", "owner")])
    let new = Self.version(
      2, dog: [Self.toOne("owner", "Person", "dog")], person: [Self.toOne("dog", "Dog", "owner")])
    #expect(!MigrationStep(from: old, to: new).isProven)
    let rule = EntityRule(
      destination: "Person",
      relationships: [PropertyMapping(name: "dog", value: try ValueExpression(format: "dogs[FIRST]"))])
    let step = MigrationStep(
      from: old, to: new, rules: MappingRules(source: 1, destination: 2, entities: [rule]))
    #expect(step.isProven, "\(step.openChanges) \(step.problems)")
    let owner = RelationshipMapping(name: "owner", value: .inverse)
    #expect(step.mapping.entityMappings[0].relationships == [owner])
  }

  /// A reference is stored once, so that one of two different rules would have no effect.
  @Test(arguments: [
    ("owner", "dogs", true), ("keeper", "dogs", false), ("owner", "kept", false), ("owner", "nil", false),
    ("nil", "dogs", false), ("nil", "nil", true),
  ])
  func `Rules for both sides of a to-one relationship are the same`(
    _ owner: String, _ dogs: String, _ isRight: Bool
  ) throws {
    let old = Self.version(
      1, dog: [Self.toOne("owner", "Person", "dogs"), Self.toOne("keeper", "Person", nil)],
      person: [Self.toMany("dogs", "Dog", "owner"), Self.toMany("kept", "Dog", nil)])
    func rule(_ entity: String, _ name: String, _ value: String) throws -> EntityRule {
      EntityRule(
        destination: entity,
        relationships: [PropertyMapping(name: name, value: try ValueExpression(format: value))])
    }
    let rules = [try rule("Dog", "owner", owner), try rule("Person", "dogs", dogs)]
    let step = MigrationStep(
      from: old, to: Self.owned, rules: MappingRules(source: 1, destination: 2, entities: rules))
    #expect(step.problems.map(\.severity) == (isRight ? [] : [.error]), "\(step.problems)")
  }

  /// Rules for one relationship of an entity.
  private static func rules(
    _ entity: String, _ name: String, _ value: String, drops: [String] = []
  ) throws -> MappingRules {
    MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(
          destination: entity,
          relationships: [PropertyMapping(name: name, value: try ValueExpression(format: value))]),
        EntityRule(destination: entity == "Dog" ? "Person" : "Dog", drops: drops),
      ])
  }

  @Test(arguments: [("Dog", "owner"), ("Person", "dogs")])
  func `The other side follows a rule for no objects`(_ entity: String, _ name: String) throws {
    let old = Self.version(
      1, dog: [Self.toOne("owner", "Person", "dogs")], person: [Self.toMany("dogs", "Dog", "owner")])
    let step = MigrationStep(from: old, to: Self.owned, rules: try Self.rules(entity, name, "nil"))
    #expect(step.isProven, "\(step.openChanges) \(step.problems)")
    let values = step.mapping.entityMappings.flatMap(\.relationships).map(\.value)
    #expect(values == [RelationshipMapping.Value.none, RelationshipMapping.Value.none])
  }

  @Test(arguments: [[], ["dogs"]])
  func `A rule for no objects does not confirm the loss of other pairs`(drops: [String]) throws {
    let old = Self.version(
      1, dog: [Self.toOne("owner", "Person", nil)], person: [Self.toMany("dogs", "Dog", nil)])
    let rules = try Self.rules("Dog", "owner", "nil", drops: drops)
    let step = MigrationStep(from: old, to: Self.owned, rules: rules)
    #expect(step.isProven == !drops.isEmpty, "\(step.openChanges) \(step.problems)")
  }

  @Test(arguments: [("nil", 1), ("SUBQUERY(dogs, $dog, $dog.owner.name != '')", 1), ("dogs", 0)])
  func `A mandatory relationship does not follow a rule that may leave out objects`(
    _ value: String, _ count: Int
  ) throws {
    let step = MigrationStep(
      from: Self.kennel(1, .cascade), to: Self.kennel(2, .cascade),
      rules: try Self.rules("Person", "dogs", value))
    #expect(step.problems.count { $0.severity == .error } == count, "\(step.problems)")
    #expect(step.isProven == (count == 0), "\(step.openChanges)")
  }

  @Test func `Rules for both sides of a many-to-many relationship are combined`() throws {
    let old = Self.version(
      1, dog: [Self.toMany("owners", "Person", nil)], person: [Self.toMany("dogs", "Dog", nil)])
    let new = Self.version(
      2, dog: [Self.toMany("owners", "Person", "dogs")], person: [Self.toMany("dogs", "Dog", "owners")])
    let rules = try [("Dog", "owners"), ("Person", "dogs")].map { entity, name in
      EntityRule(
        destination: entity,
        relationships: [PropertyMapping(name: name, value: try ValueExpression(format: name))])
    }
    let step = MigrationStep(
      from: old, to: new, rules: MappingRules(source: 1, destination: 2, entities: rules))
    #expect(step.isProven, "\(step.openChanges) \(step.problems)")
  }

  @Test func `The two parts of a divided entity refer to each other`() throws {
    let old = ModelVersion(number: 1, entities: [EntityDescription(name: "Contact")])
    let new = Self.version(
      2, dog: [Self.toOne("owner", "Person", "dog")], person: [Self.toOne("dog", "Dog", "owner")])
    let rules = [
      EntityRule(
        destination: "Dog", source: "Contact",
        relationships: [PropertyMapping(name: "owner", value: try ValueExpression(format: "SELF"))]),
      EntityRule(destination: "Person", source: "Contact"),
    ]
    let step = MigrationStep(
      from: old, to: new, rules: MappingRules(source: 1, destination: 2, entities: rules))
    #expect(step.isProven, "\(step.openChanges) \(step.problems)")
    let dog = RelationshipMapping(name: "dog", value: .inverse)
    #expect(step.mapping.entityMappings[1].relationships == [dog])
  }

  // MARK: Filters

  /// Contacts that become persons and companies by two filters, and notes that need a contact.
  private static func parts(
    _ first: String, _ second: String, ruling isRuled: Bool
  ) throws -> MigrationStep {
    let attributes = [
      AttributeDescription(name: "kind", type: .int64),
      AttributeDescription(name: "size", type: .int64, isOptional: true),
    ]
    func note(_ destination: String) -> EntityDescription {
      var contact = toOne("contact", destination, nil)
      contact.isOptional = false
      return EntityDescription(name: "Note", relationships: [contact])
    }
    let old = ModelVersion(
      number: 1, entities: [EntityDescription(name: "Contact", attributes: attributes), note("Contact")])
    let new = ModelVersion(
      number: 2, basedOn: [1],
      entities: [
        EntityDescription(name: "Party", isAbstract: true, attributes: attributes),
        EntityDescription(name: "Person", parent: "Party"),
        EntityDescription(name: "Company", parent: "Party"), note("Party"),
      ])
    var rules = try [("Person", first), ("Company", second)].map { name, filter in
      EntityRule(destination: name, source: "Contact", filter: try FetchPredicate(format: filter))
    }
    if isRuled {
      rules.append(
        EntityRule(
          destination: "Note",
          relationships: [PropertyMapping(name: "contact", value: try ValueExpression(format: "contact"))]))
    }
    return MigrationStep(
      from: old, to: new, rules: MappingRules(source: 1, destination: 2, entities: rules))
  }

  @Test(
    arguments: [
      ("kind == 1", "kind != 1"), ("NOT kind == 1", "kind == 1"), ("kind > 5", "NOT kind > 5"),
      ("kind > 5", "kind <= 5"), ("size > 5", "NOT size > 5"), ("size == nil", "size != nil"),
      ("kind == 1 OR kind == 2", "kind != 1 AND kind != 2"), ("kind IN {1, 2}", "NOT kind IN {1, 2}"),
      ("kind == 1 AND size > 5", "kind != 1 OR NOT size > 5"),
    ], [true, false])
  func `Opposite filters exclude no objects`(_ filters: (String, String), _ isRuled: Bool) throws {
    let step = try Self.parts(filters.0, filters.1, ruling: isRuled)
    #expect(step.isProven, "\(step.openChanges) \(step.problems)")
    #expect(!step.changes.contains { $0.kind == .objectsFiltered("Contact") })
  }

  /// An order is false for nil. Each mapping has random numbers of its own.
  @Test(
    arguments: [
      ("size > 5", "size <= 5"), ("kind > 5", "kind < 5"), ("kind == 1", "kind == 2"),
      ("kind == 1 AND size > 5", "kind != 1"), ("kind > size", "kind <= size"), ("kind > 5", "kind <= 6"),
      ("random() < 0.5", "NOT random() < 0.5"), ("kind == randomn:(9)", "kind != randomn:(9)"),
    ], [true, false])
  func `Other filters may exclude objects`(_ filters: (String, String), _ isRuled: Bool) throws {
    let step = try Self.parts(filters.0, filters.1, ruling: isRuled)
    #expect(!step.isProven)
    #expect(step.changes.contains { $0.kind == .objectsFiltered("Contact") })
  }

  @Test(arguments: [("kind == 1", false), ("random() < 0.5", true)])
  func `Two rules with the same random filter select different objects`(
    _ filter: String, _ isLost: Bool
  ) throws {
    let kind = AttributeDescription(name: "kind", type: .int64)
    let size = AttributeDescription(name: "size", type: .int64)
    let old = ModelVersion(
      number: 1, entities: [EntityDescription(name: "Contact", attributes: [kind, size])])
    let new = ModelVersion(
      number: 2, basedOn: [1],
      entities: [
        EntityDescription(name: "Person", attributes: [kind, size]),
        EntityDescription(name: "Company", attributes: [kind]),
      ])
    let rules = try ["Person", "Company"].map {
      EntityRule(destination: $0, source: "Contact", filter: try FetchPredicate(format: filter))
    }
    let step = MigrationStep(
      from: old, to: new, rules: MappingRules(source: 1, destination: 2, entities: rules))
    let lost = ModelChange.Kind.attributeRemoved(PropertyName("Contact", "size"))
    #expect(step.openChanges.contains { $0.kind == lost } == isLost, "\(step.openChanges)")
  }

  // The values of a parent's two rules with filters, and of a subentity's own rule.
  @Test(
    arguments: [
      ("'adult'", "'child'", nil, false), ("'adult'", "'child'", "'employee'", true),
      ("'any'", "'any'", nil, true),
    ] as [(String, String, String?, Bool)])
  func `A subentity does not inherit one of several rules`(
    _ adult: String, _ child: String, _ employee: String?, _ isRight: Bool
  ) throws {
    func version(_ number: Int) -> ModelVersion {
      let role = [AttributeDescription(name: "role", type: .string)]
      return ModelVersion(
        number: number, basedOn: number > 1 ? [number - 1] : [],
        entities: [
          EntityDescription(
            name: "Person",
            attributes: [AttributeDescription(name: "age", type: .int64)] + (number > 1 ? role : [])),
          EntityDescription(name: "Employee", parent: "Person"),
        ])
    }
    func role(_ value: String) throws -> [PropertyMapping] {
      [PropertyMapping(name: "role", value: try ValueExpression(format: value))]
    }
    var rules = [
      EntityRule(
        destination: "Person", name: "Adults", filter: try FetchPredicate(format: "age >= 18"),
        attributes: try role(adult)),
      EntityRule(
        destination: "Person", name: "Children", filter: try FetchPredicate(format: "age < 18"),
        attributes: try role(child)),
    ]
    if let employee { rules.append(EntityRule(destination: "Employee", attributes: try role(employee))) }
    let step = MigrationStep(
      from: version(1), to: version(2), rules: MappingRules(source: 1, destination: 2, entities: rules))
    #expect(
      step.problems.map(\.location) == (isRight ? [] : [.attribute(entity: 1, 0)]), "\(step.problems)")
    #expect(step.isProven == isRight, "\(step.openChanges)")
  }

  // MARK: References to deleted objects

  /// Persons with dogs, whose owner is mandatory, and with a home, which is mandatory too.
  private static func kennel(
    _ number: Int, _ rule: DeleteRule, owner: String = "owner", dog: [AttributeDescription] = [],
    more: [RelationshipDescription] = []
  ) -> ModelVersion {
    var dogs = toMany("dogs", "Dog", owner)
    dogs.deleteRule = rule
    var mandatory = [toOne(owner, "Person", "dogs"), toOne("home", "Home", nil)]
    mandatory[0].isOptional = false
    mandatory[1].isOptional = false
    return ModelVersion(
      number: number, basedOn: number > 1 ? [number - 1] : [],
      entities: [
        EntityDescription(name: "Dog", attributes: dog, relationships: [mandatory[0]] + more),
        EntityDescription(
          name: "Person", attributes: [AttributeDescription(name: "name", type: .string)],
          relationships: [dogs, mandatory[1]]),
        EntityDescription(name: "Home"),
      ])
  }

  @Test(arguments: [DeleteRule.noAction, .cascade])
  func `An inverse does not lead to objects whose owner was deleted`(_ rule: DeleteRule) {
    let step = MigrationStep(from: Self.kennel(1, rule), to: Self.kennel(2, rule, owner: "keeper"))
    #expect(step.isProven == (rule == .cascade))
    #expect(
      step.openChanges.map(\.kind)
        == (rule == .cascade ? [] : [.relationshipAdded(PropertyName("Dog", "keeper"))]))
  }

  @Test(arguments: [
    ("owner.name", "owner.home", "", 2), ("owner.name ?? ''", "owner.home", "", 1),
    ("owner.name", "owner.home", "owner != nil", 0),
  ])
  func `A path over a deleted object may be nil`(
    _ name: String, _ home: String, _ filter: String, _ count: Int
  ) throws {
    let rule = EntityRule(
      destination: "Dog", filter: filter.isEmpty ? nil : try FetchPredicate(format: filter),
      attributes: [PropertyMapping(name: "ownerName", value: try ValueExpression(format: name))],
      relationships: [PropertyMapping(name: "home", value: try ValueExpression(format: home))])
    var homeOfDog = Self.toOne("home", "Home", nil)
    homeOfDog.isOptional = false
    func problems(_ deleteRule: DeleteRule) -> [MappingProblem] {
      MigrationStep(
        from: Self.kennel(1, deleteRule),
        to: Self.kennel(
          2, deleteRule, dog: [AttributeDescription(name: "ownerName", type: .string)], more: [homeOfDog]),
        rules: MappingRules(source: 1, destination: 2, entities: [rule])
      ).problems.filter { $0.severity == .error }
    }
    #expect(problems(.noAction).count == count, "\(problems(.noAction))")
    #expect(problems(.cascade).isEmpty, "\(problems(.cascade))")
  }

  /// A mandatory relationship cannot lead to persons that a filter excludes.
  @Test(arguments: [
    (DeleteRule.nullify, "", false), (DeleteRule.nullify, "home != nil", false),
    (DeleteRule.nullify, "owner.name != ''", true), (DeleteRule.cascade, "", true),
  ])
  func `A rule for a mandatory relationship does not lead to excluded objects`(
    _ deleteRule: DeleteRule, _ filter: String, _ isRight: Bool
  ) throws {
    let rules = [
      EntityRule(destination: "Person", filter: try FetchPredicate(format: "name != ''")),
      EntityRule(
        destination: "Dog", filter: filter.isEmpty ? nil : try FetchPredicate(format: filter),
        relationships: [PropertyMapping(name: "owner", value: try ValueExpression(format: "owner"))]),
    ]
    let home = [Self.toOne("home", "Home", nil)]
    let step = MigrationStep(
      from: Self.kennel(1, deleteRule, more: home), to: Self.kennel(2, deleteRule, more: home),
      rules: MappingRules(source: 1, destination: 2, entities: rules))
    #expect(step.problems.map(\.severity) == (isRight ? [] : [.error]), "\(step.problems)")
    #expect(step.isProven == isRight)
  }

  // MARK: Rules in code

  @Test func `Rules built in code are checked with their places`() throws {
    let old = ModelVersion(
      number: 1,
      entities: [Self.person("Note", renamedFrom: nil, AttributeDescription(name: "size", type: .string))])
    let new = ModelVersion(
      number: 2, basedOn: [1],
      entities: [Self.person("Note", renamedFrom: nil, AttributeDescription(name: "size", type: .int64))])
    let open = MigrationStep(from: old, to: new)
    let change = try #require(open.openChanges.first)
    #expect(
      change.kind
        == .attributeTypeChanged(
          PropertyName("Note", "size"), from: .string, to: .int64, conversion: .partial))
    #expect(change.verdict == .needsRule)
    #expect(change.remedies.first == .custom(entity: "Note"))
    func step(_ format: String) throws -> MigrationStep {
      let rule = EntityRule(
        destination: "Note",
        attributes: [PropertyMapping(name: "size", value: try ValueExpression(format: format))])
      return MigrationStep(
        from: old, to: new, rules: MappingRules(source: 1, destination: 2, entities: [rule]))
    }
    let partial = try step("CAST(size, 'Int64')")
    #expect(partial.problems.map(\.location) == [.attribute(entity: 0, 0)])
    #expect(!partial.isProven)
    let total = try step("CAST(size, 'Int64', 0)")
    #expect(total.isProven)
    #expect(total.changes.map(\.resolution) == [.mapped])
  }

  @Test func nilIsNoValueThatDoesNotFit() throws {
    let old = ModelVersion(
      number: 1,
      entities: [
        Self.person(
          "Note", renamedFrom: nil, AttributeDescription(name: "size", type: .string, isOptional: true))
      ])
    let new = ModelVersion(
      number: 2, basedOn: [1],
      entities: [Self.person("Note", renamedFrom: nil, AttributeDescription(name: "size", type: .int64))])
    let change = try #require(MigrationStep(from: old, to: new).openChanges.first)
    #expect(change.remedies.contains { "\($0)".contains("?? …") })
    func problems(_ format: String) throws -> [String] {
      let rule = EntityRule(
        destination: "Note",
        attributes: [PropertyMapping(name: "size", value: try ValueExpression(format: format))])
      return MigrationStep(
        from: old, to: new, rules: MappingRules(source: 1, destination: 2, entities: [rule])
      ).problems.map(\.message)
    }
    #expect(try problems("CAST(size, 'Int64', 0)").first?.contains("may be nil") == true)
    #expect(try problems("CAST(size, 'Int64', 0) ?? 0").isEmpty)
  }

  @Test(arguments: OwnedObjects.allCases)
  func `Rules made of a mapping model keep what it says of owned objects`(_ owned: OwnedObjects) throws {
    let mapping = MappingModel(
      source: 1, destination: 2,
      entityMappings: [
        EntityMapping(
          kind: .transform, name: "Kept", source: "Note", destination: "Note",
          filter: try FetchPredicate(format: "size > 1"), owned: owned)
      ])
    #expect(MappingRules(mapping).entities.map(\.owned) == [owned])
  }
}
