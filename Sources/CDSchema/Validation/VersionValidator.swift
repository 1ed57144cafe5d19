import CDModel

/// Checks one version: its names, its references, and values that do not fit together.
///
/// It continues after every mistake. Mistakes that only follow from a reported one are not reported.
struct VersionValidator {
  private let report: VersionReport
  private let version: ModelVersion
  private let graph: EntityGraph
  private let names: NameValidator
  private let attributes: AttributeValidator
  private let relationships: RelationshipValidator
  private let inheritance: InheritanceValidator
  private let indexes: IndexValidator
  private let expressions: ExpressionValidator
  private let fetches: FetchValidator

  init(
    modelName: String, decoded: DecodedVersion, isLocked: Bool, positions: ElementPositions,
    diagnostics: DiagnosticCollector
  ) {
    let report = VersionReport(decoded, isLocked: isLocked, positions: positions, diagnostics: diagnostics)
    let circles = InheritanceCircles(report.graph)
    let expressions = ExpressionValidator(report, decoded)
    self.report = report
    version = report.version
    graph = report.graph
    names = NameValidator(report, modelName: modelName, circles: circles)
    attributes = AttributeValidator(report)
    relationships = RelationshipValidator(report)
    inheritance = InheritanceValidator(report, circles: circles)
    indexes = IndexValidator(report)
    self.expressions = expressions
    fetches = FetchValidator(report, expressions: expressions)
  }

  func validate() {
    names.validateTypeNames()
    for enumeration in version.enums { names.validateCases(of: enumeration) }
    for composite in version.composites {
      names.validateFields(of: composite)
      for field in composite.fields {
        attributes.validate(field, report.fieldElement(field.name, composite.name))
      }
    }
    inheritance.validate()
    if inheritance.isTooDeep { return }
    names.validateColumnNames()
    names.validateComposedColumnNames()
    inheritance.validateColumnCounts()
    for entity in version.entities {
      names.validatePropertyNames(of: entity)
      names.validateSwiftNames(of: entity)
      for attribute in entity.attributes {
        attributes.validate(attribute, report.attributeElement(attribute.name, entity))
        expressions.validateDerivation(of: attribute, entity)
      }
      for relationship in entity.relationships { relationships.validate(relationship, of: entity) }
      for fetched in entity.fetchedProperties { fetches.validate(fetched, of: entity) }
      for template in entity.fetchTemplates { fetches.validate(template, of: entity) }
      indexes.validateIndexes(of: entity)
      indexes.validateUniqueness(of: entity)
    }
    expressions.validateDerivationCycles()
    validateConfigurations()
  }

  /// A configuration's name can be any text that a line of `versions.lock` keeps, whose words are separated by blanks.
  private func validateName(of configuration: ConfigurationDescription, _ element: SchemaElement) {
    let name = configuration.name
    if name.isEmpty {
      report.error(element, nil, "a configuration needs a name")
    } else if name.contains(where: \.isNewline)
      || name != name.split(separator: " ").joined(separator: " ")
    {
      report.mistake(
        element, nil,
        "versions.lock cannot list a configuration with a line break in its name, with two blanks in a row, "
          + "or with a blank at an end")
    }
  }

  private func validateConfigurations() {
    for configuration in version.configurations {
      let element = SchemaElement.part(.configuration(configuration.name), version: version.number)
      validateName(of: configuration, element)
      for (place, name) in configuration.entities.enumerated() where graph.entity(name) == nil {
        report.unknownEntity(name, element, "entities[\(place)]")
      }
    }
  }
}
