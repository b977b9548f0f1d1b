def greeting(name, language="en"):
    from app.texts import TEXTS

    return TEXTS[language].format(name=name)
