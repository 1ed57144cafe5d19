import CDModel

extension VersionValidator {
  func validate(_ template: FetchTemplate, of entity: EntityDescription) {
    let element = templateElement(template.name, entity)
    validateSort(template.sort, element, of: entity)
    if let predicate = template.predicate {
      let checked = ExpressionChecker(graph: graph).check(predicate, on: entity.name, isTemplate: true)
      report(checked.diagnostics, element, "where", of: entity)
    }
  }

  func validate(_ fetched: FetchedPropertyDescription, of entity: EntityDescription) {
    let element = fetchedElement(fetched.name, entity)
    guard let destination = graph.entity(fetched.entity) else {
      reportUnknownEntity(fetched.entity, element, "entity")
      return
    }
    validateSort(fetched.sort, element, of: destination)
    if let predicate = fetched.predicate {
      let checked = ExpressionChecker(graph: graph).check(
        predicate, on: destination.name, fetchSource: entity.name)
      report(checked.diagnostics, element, "where", of: destination)
      reportVariables(checked.variables.map(\.name).filter { $0 != "FETCH_SOURCE" }, element, "where")
    }
  }

  func validateConfigurations() {
    for configuration in version.configurations {
      let element = ModelElement.configuration(version: version.number, name: configuration.name)
      if configuration.name.isEmpty { error(element, nil, "a configuration needs a name") }
      for (place, name) in configuration.entities.enumerated() where graph.entity(name) == nil {
        reportUnknownEntity(name, element, "entities[\(place)]")
      }
    }
  }
}
